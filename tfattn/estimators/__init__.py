"""scikit-learn estimators of texts and tables, which train and predict with the stages of a pipeline."""
