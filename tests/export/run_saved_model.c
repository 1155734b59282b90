/* Loads a SavedModel as a model server does, in C and without Python, and answers one string.
 *
 *   run_saved_model FOLDER INPUT LABEL SCORES TEXT [LIBRARY ...]
 *
 * INPUT, LABEL and SCORES are names of tensors such as serving_default_text:0, as the signature gives them. Each
 * LIBRARY registers further operations. Prints the label, then a score per line.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

static TF_Status* status;

static void check(const char* what) {
  if (TF_GetCode(status) != TF_OK) {
    fprintf(stderr, "%s: %s\n", what, TF_Message(status));
    exit(1);
  }
}

/* "name:1" -> the second output of the operation "name". */
static TF_Output tensor(TF_Graph* graph, char* name) {
  char* colon = strrchr(name, ':');
  *colon = '\0';
  TF_Output output = {TF_GraphOperationByName(graph, name), atoi(colon + 1)};
  if (output.oper == NULL) {
    fprintf(stderr, "no operation %s\n", name);
    exit(1);
  }
  return output;
}

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  status = TF_NewStatus();
  for (int i = 6; i < argc; ++i) {
    TF_LoadLibrary(argv[i], status);
    check(argv[i]);
  }

  const char* tags[] = {"serve"};
  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_LoadSessionFromSavedModel(options, NULL, argv[1], tags, 1, graph, NULL, status);
  check("load");

  TF_Output input = tensor(graph, argv[2]);
  TF_Output outputs[] = {tensor(graph, argv[3]), tensor(graph, argv[4])};
  int64_t rows = 1;
  TF_Tensor* text = TF_AllocateTensor(TF_STRING, &rows, 1, sizeof(TF_TString));
  TF_StringInit((TF_TString*)TF_TensorData(text));
  TF_StringCopy((TF_TString*)TF_TensorData(text), argv[5], strlen(argv[5]));

  TF_Tensor* answers[] = {NULL, NULL};
  TF_SessionRun(session, NULL, &input, &text, 1, outputs, answers, 2, NULL, 0, NULL, status);
  check("run");

  const TF_TString* label = (const TF_TString*)TF_TensorData(answers[0]);
  printf("%.*s\n", (int)TF_StringGetSize(label), TF_StringGetDataPointer(label));
  const float* scores = (const float*)TF_TensorData(answers[1]);
  for (int64_t i = 0; i < TF_Dim(answers[1], 1); ++i) printf("%.9g\n", scores[i]);

  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
