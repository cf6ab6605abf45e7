//! A user's own JSON: the schema it has, and what it costs.
