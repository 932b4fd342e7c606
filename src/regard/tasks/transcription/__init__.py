"""What tasks that write down what is heard share."""
