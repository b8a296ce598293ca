"""What a pod has beside its command: variables, storage, rights, where it runs and how it ends."""
