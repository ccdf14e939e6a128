"""The environment for jobs: variables with paths on the volumes, in the forms that readers take."""
