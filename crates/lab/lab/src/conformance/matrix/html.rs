//! The matrix as a page.

use maud::{Markup, html};
use page::{Document, Origin, table, text};

use super::super::cases::CASES;
use super::Matrix;
use super::print::{Line, Reason};

impl Matrix {
    pub(super) fn html(&self, origin: &Origin) -> String {
        let title = "Stacks against conformance cases";
        let contents = [
            ("matrix", "Matrix"),
            ("reasons", "Not passed, and why"),
            ("cases", "Cases"),
            ("versions", "Versions"),
        ];
        let parts = [self.marks(), self.reasons(), cases(), self.versions()];
        let main = html! {
            p.answer { (self.summary()) }
            @for ((id, title), part) in contents.iter().zip(&parts) {
                section id=(id) {
                    h2 { (title) }
                    (part)
                }
            }
        };
        let contents = contents.map(|(id, title)| (id.to_owned(), title.to_owned()));
        Document {
            title: &format!("commute: {}", title.to_lowercase()),
            head: origin.head(title),
            contents: contents.into(),
            main,
        }
        .into_html()
    }

    fn marks(&self) -> Markup {
        let numbers = (1..).zip(CASES);
        let cases = numbers.map(|(number, case)| {
            html! { a href={ "#case-" (number) } title=(case.about) { (number) } }
        });
        let headings: Vec<Markup> = std::iter::once(text("Stack")).chain(cases).collect();
        let row = |line: &Line<'_>| -> Vec<Markup> {
            let cells = line.cells.iter().map(|cell| {
                html! { span class=(cell.class()) title=(cell.why()) { (cell.mark()) } }
            });
            std::iter::once(text(line.name())).chain(cells).collect()
        };
        let rows: Vec<Vec<Markup>> = self.lines().iter().map(row).collect();
        html! {
            p.note {
                "✓ pass, ✗ fail, – unsupported, · not applicable to this protocol. The numbers are those of \
                 the cases below."
            }
            div.marks { (table("Every stack against every case", &headings, &rows)) }
        }
    }

    fn reasons(&self) -> Markup {
        let row = |reason: &Reason| {
            let word = if reason.failed { "fail" } else { "unsupported" };
            vec![
                text(&reason.who),
                html! { span.long { (reason.cases.join(", ")) } },
                html! { span class=(word) { (word) } },
                html! { span.long { (reason.why) } },
            ]
        };
        let rows: Vec<Vec<Markup>> = self.reasons_of_all().iter().map(row).collect();
        let headings = ["Stack", "Cases", "Result", "Reason"].map(text);
        html! {
            @if rows.is_empty() { p { "Every case passed." } } @else {
                (table("Cases that did not pass", &headings, &rows))
            }
        }
    }

    fn versions(&self) -> Markup {
        let rows: Vec<Vec<Markup>> = (self.stacks.iter())
            .map(|of| {
                let about = [&of.stack, &of.version, &of.tls];
                let about = about.map(|words| html! { span.long { (words) } });
                std::iter::once(text(&of.driver)).chain(about).collect()
            })
            .collect();
        let headings = ["Driver", "Stack", "Version", "TLS"].map(text);
        table("Stacks as their drivers report them", &headings, &rows)
    }
}

fn cases() -> Markup {
    html! {
        ol {
            @for (number, case) in (1..).zip(CASES) {
                li id={ "case-" (number) } { strong { (case.name) } ": " (case.about) }
            }
        }
    }
}
