"""Series: values along one axis of time, in one channel or several; read from CSV and .ts files, drawn, normalised."""
