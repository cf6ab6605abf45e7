//! The schema as .proto text.

use crate::descriptor::{ONEOF, PACKAGE};
use crate::path::anchor;
use crate::schema::{Field, Label, Message, Role, Type};
use crate::{Note, Schema};

impl Schema {
    /// Returns the schema as a .proto that protoc accepts, with its notes as comments.
    pub fn to_proto(&self) -> String {
        let mut text = String::from("// Inferred from");
        for (number, sample) in self.samples.iter().enumerate() {
            let between = if number == 0 { " " } else { ", " };
            text += between;
            text.extend(sample.escape_debug());
        }
        text += ".\n";
        text += &format!("syntax = \"proto3\";\n\npackage {PACKAGE};\n");
        // The message of a whole sample comes first, whatever its index.
        let others = (0..self.messages.len()).filter(|&index| index != self.top);
        for index in std::iter::once(self.top).chain(others) {
            text.push('\n');
            self.message_text(&mut text, index);
        }
        text
    }

    fn message_text(&self, text: &mut String, index: usize) {
        let message = &self.messages[index];
        if index == self.top {
            for note in self
                .notes
                .iter()
                .filter(|note| anchor(&note.path).is_empty())
            {
                comment(text, "", note);
            }
        } else if message.role != Role::Null {
            line(text, "// ", &message.path);
        }
        if message.fields.is_empty() {
            line(text, &format!("message {} {{}}", message.name), "");
            return;
        }
        line(text, &format!("message {} {{", message.name), "");
        if message.role == Role::Union {
            line(text, &format!("  oneof {ONEOF} {{"), "");
        }
        for field in &message.fields {
            self.field_text(text, message, field);
        }
        if message.role == Role::Union {
            line(text, "  }", "");
        }
        line(text, "}", "");
    }

    fn field_text(&self, text: &mut String, message: &Message, field: &Field) {
        let indent = if message.role == Role::Union {
            "    "
        } else {
            "  "
        };
        if message.role == Role::Object {
            for note in self
                .notes
                .iter()
                .filter(|note| anchor(&note.path) == field.path)
            {
                comment(text, indent, note);
            }
        }
        let ty = match field.ty {
            Type::Message(index) => &self.messages[index].name,
            scalar => scalar.scalar_name().unwrap_or_default(),
        };
        let declared = match field.label {
            Label::Plain | Label::Choice => ty.to_owned(),
            Label::Optional => format!("optional {ty}"),
            Label::Repeated => format!("repeated {ty}"),
            Label::Map => format!("map<string, {ty}>"),
        };
        let json_name = field.json_name.as_ref().map_or_else(String::new, |name| {
            format!(" [json_name = \"{}\"]", escaped(name))
        });
        let (name, number) = (&field.name, field.number);
        let declaration = format!("{indent}{declared} {name} = {number}{json_name};");
        line(text, &declaration, "");
    }
}

fn comment(text: &mut String, indent: &str, note: &Note) {
    line(text, &format!("{indent}// "), &note.to_string());
}

fn line(text: &mut String, start: &str, rest: &str) {
    text.push_str(start);
    text.push_str(rest);
    text.push('\n');
}

/// Escapes a name for a string literal.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            // Three octal digits, so that a digit that follows is not read as part of the escape.
            c if c.is_ascii_control() => text += &format!("\\{:03o}", u32::from(c)),
            c => text.push(c),
        }
    }
    text
}
