"""What a model is trained by beside the right answers: agreement with itself, and with a teacher."""
