//! SVG for plotters to draw on.
//!
//! Unlike the back end of plotters, it groups related elements. A `g` with `data-s` has the
//! drawing of one thing that the legend names. `data-l` is the legend's entry, `data-v` a mark
//! with its value in words, and `data-c` a line with those of its points. A page shows and hides
//! by these.

use std::convert::Infallible;
use std::fmt::Write;

use plotters::coord::Shift;
use plotters::element::{Drawable, PathElement, PointCollection};
use plotters::prelude::{DrawingArea, DrawingAreaErrorKind, DrawingBackend};
use plotters::style::{RGBColor, ShapeStyle};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind, FontStyle,
    FontTransform,
};

/// The canvas of figures.
pub type Canvas<'a> = DrawingArea<Svg<'a>, Shift>;

/// A point on it, from the upper left corner.
pub type Pixel = (i32, i32);

/// Drawing into a string cannot fail, but plotters does not know.
pub type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<Infallible>>;

type Written = Result<(), DrawingErrorKind<Infallible>>;

/// A document that is being written.
pub struct Svg<'a> {
    text: &'a mut String,
    size: (u32, u32),
}

/// plotters counts the size of letters so much larger than SVG does.
const FONT_SCALE: f64 = 1.24;

impl<'a> Svg<'a> {
    /// An empty picture of so many pixels. Its title is for screen readers.
    pub fn new(text: &'a mut String, size: (u32, u32), title: &str) -> Self {
        let (width, height) = size;
        *text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n\
             <title>{}</title>\n",
            escaped(title)
        );
        Self { text, size }
    }

    /// Draws a shape, unless its colour is not to be seen.
    fn shape<S: BackendStyle>(&mut self, shape: &str, style: &S, fill: bool) -> Written {
        if style.color().alpha > 0.0 {
            // Writing to a string does not fail.
            let _ = writeln!(self.text, "<{shape} {}/>", drawn(style, fill));
        }
        Ok(())
    }
}

/// Text as XML has it.
pub(crate) fn escaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => plain += "&lt;",
            '>' => plain += "&gt;",
            '&' => plain += "&amp;",
            '"' => plain += "&quot;",
            c => plain.push(c),
        }
    }
    plain
}

/// A paint, with its opacity where it is not whole.
fn paint(attribute: &str, colour: BackendColor) -> String {
    let (r, g, b) = colour.rgb;
    let opacity = match colour.alpha {
        1.0 => String::new(),
        alpha => format!(" {attribute}-opacity=\"{alpha}\""),
    };
    format!("{attribute}=\"#{r:02X}{g:02X}{b:02X}\"{opacity}")
}

/// A line in a style.
fn stroke<S: BackendStyle>(style: &S) -> String {
    let width = match style.stroke_width() {
        1 => String::new(),
        width => format!(" stroke-width=\"{width}\""),
    };
    paint("stroke", style.color()) + &width
}

/// A line, or what is filled.
fn drawn<S: BackendStyle>(style: &S, fill: bool) -> String {
    match fill {
        true => paint("fill", style.color()),
        false => format!("fill=\"none\" {}", stroke(style)),
    }
}

fn points(points: impl IntoIterator<Item = BackendCoord>) -> String {
    let points = points.into_iter().map(|(x, y)| format!("{x},{y}"));
    points.collect::<Vec<_>>().join(" ")
}

impl DrawingBackend for Svg<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Written {
        Ok(())
    }

    fn present(&mut self) -> Written {
        self.text.push_str("</svg>\n");
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, colour: BackendColor) -> Written {
        self.draw_rect((x, y), (x + 1, y + 1), &colour, true)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Written {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (left, top): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        fill: bool,
    ) -> Written {
        let (width, height) = (right - left, bottom - top);
        let shape = format!("rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"");
        self.shape(&shape, style, fill)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Written {
        let points = points(path);
        self.shape(&format!("polyline points=\"{points}\""), style, false)
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        (x, y): BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Written {
        let shape = format!("circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"");
        self.shape(&shape, style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Written {
        let points = points(corners);
        self.shape(&format!("polygon points=\"{points}\""), style, true)
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Written {
        let anchor = match style.anchor().h_pos {
            HPos::Left => "",
            HPos::Center => " text-anchor=\"middle\"",
            HPos::Right => " text-anchor=\"end\"",
        };
        let down = match style.anchor().v_pos {
            VPos::Top => "0.76em",
            VPos::Center => "0.5ex",
            VPos::Bottom => "-0.5ex",
        };
        let weight = match style.style() {
            FontStyle::Bold => " font-weight=\"bold\"",
            _ => "",
        };
        let turned = match style.transform() {
            FontTransform::None => String::new(),
            FontTransform::Rotate90 => format!(" transform=\"rotate(90 {x} {y})\""),
            FontTransform::Rotate180 => format!(" transform=\"rotate(180 {x} {y})\""),
            FontTransform::Rotate270 => format!(" transform=\"rotate(270 {x} {y})\""),
        };
        let size = style.size() / FONT_SCALE;
        let fill = paint("fill", style.color());
        let text = escaped(text);
        let _ = writeln!(
            self.text,
            "<text x=\"{x}\" y=\"{y}\" dy=\"{down}\"{anchor} font-size=\"{size:.1}\" \
             {fill}{weight}{turned}>{text}</text>"
        );
        Ok(())
    }
}

/// A group, for which plotters has no element. Drawings between a begin and an end belong
/// together.
enum Group<'t> {
    Begin(&'static str, &'t str),
    End,
    Dots(&'t [BackendCoord], RGBColor),
}

impl<'a> PointCollection<'a, BackendCoord> for &'a Group<'_> {
    type Point = BackendCoord;
    type IntoIter = [BackendCoord; 0];

    fn point_iter(self) -> Self::IntoIter {
        []
    }
}

impl Drawable<Svg<'_>> for Group<'_> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        _: I,
        svg: &mut Svg<'_>,
        _: (u32, u32),
    ) -> Written {
        let _ = match self {
            Self::Begin(attribute, value) => {
                // XML takes the end of a line in an attribute for a space.
                let value = escaped(value).replace('\n', "&#10;");
                writeln!(svg.text, "<g {attribute}=\"{value}\">")
            }
            Self::End => writeln!(svg.text, "</g>"),
            Self::Dots(dots, RGBColor(r, g, b)) => {
                let dots = dots.iter().map(|(x, y)| format!("M{x},{y}h0"));
                let dots: String = dots.collect();
                writeln!(
                    svg.text,
                    "<path d=\"{dots}\" stroke=\"#{r:02X}{g:02X}{b:02X}\" stroke-width=\"4\" \
                     stroke-linecap=\"round\"/>"
                )
            }
        };
        Ok(())
    }
}

fn grouped(
    canvas: &Canvas,
    attribute: &'static str,
    value: &str,
    drawing: impl FnOnce() -> Drawn,
) -> Drawn {
    canvas.draw(&Group::Begin(attribute, value))?;
    drawing()?;
    canvas.draw(&Group::End)
}

/// Draws a series, named as in the legend.
pub fn series(canvas: &Canvas, name: &str, drawing: impl FnOnce() -> Drawn) -> Drawn {
    grouped(canvas, "data-s", name, drawing)
}

/// The entry of that in the legend.
pub fn entry(canvas: &Canvas, name: &str, drawing: impl FnOnce() -> Drawn) -> Drawn {
    grouped(canvas, "data-l", name, drawing)
}

/// A line, and what its points stand for in words, if it has any.
pub fn curve(
    canvas: &Canvas,
    words: impl Iterator<Item = String>,
    drawing: impl FnOnce() -> Drawn,
) -> Drawn {
    let words: Vec<String> = words.collect();
    match words.is_empty() {
        true => drawing(),
        false => grouped(canvas, "data-c", &words.join("|"), drawing),
    }
}

/// Many dots of one colour.
pub fn dots(canvas: &Canvas, at: &[BackendCoord], colour: RGBColor) -> Drawn {
    canvas.draw(&Group::Dots(at, colour))
}

/// A line of dashes, with what is between two of them as long as given.
pub fn dashed(
    canvas: &Canvas,
    [dash, between]: [u32; 2],
    points: impl Into<Vec<BackendCoord>>,
    style: impl Into<ShapeStyle>,
) -> Drawn {
    let dashes = format!("{dash} {between}");
    grouped(canvas, "stroke-dasharray", &dashes, || {
        canvas.draw(&PathElement::new(points, style))
    })
}

/// A mark, and what it stands for in words.
pub fn valued(canvas: &Canvas, words: &str, drawing: impl FnOnce() -> Drawn) -> Drawn {
    grouped(canvas, "data-v", words, drawing)
}
