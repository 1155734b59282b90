"""From a step function to tokens: greedy, beam search and sampling, in loops that a graph can hold."""
