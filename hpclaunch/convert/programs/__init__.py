"""The command lines of programs that start others: one module for each, which reads its options."""
