//! The rule of Windows with the parameters of its models.

mod behaviour;
mod os;
