"""What frameworks write: one recogniser a family. Pure: views and values in, values out."""
