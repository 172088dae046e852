//! Colours and spacing, equal to those of `wordloom attend`'s page, light or dark as in the system.

use eframe::egui::style::{ScrollAnimation, WidgetVisuals};
use eframe::egui::{
    Color32, Context, CornerRadius, FontFamily, FontId, Frame, Id, Margin, Response, RichText, Shadow,
    Stroke, StrokeKind, Style, TextEdit, TextStyle, Theme, ThemePreference, Ui, Vec2, vec2,
};

struct Palette {
    paper: Color32,
    card: Color32,
    ink: Color32,
    quiet: Color32,
    line: Color32,
    accent: Color32,
    on_accent: Color32,
    hover: Color32,
    warning: Color32,
}

const LIGHT: Palette = Palette {
    paper: Color32::from_rgb(0xfb, 0xfa, 0xf8),
    card: Color32::from_rgb(0xff, 0xff, 0xff),
    ink: Color32::from_rgb(0x23, 0x21, 0x1f),
    quiet: Color32::from_rgb(0x6d, 0x68, 0x62),
    line: Color32::from_rgb(0xe4, 0xe0, 0xda),
    accent: Color32::from_rgb(0x4b, 0x5b, 0xb5),
    on_accent: Color32::from_rgb(0xff, 0xff, 0xff),
    hover: Color32::from_rgb(0xf1, 0xef, 0xeb),
    warning: Color32::from_rgb(0x9a, 0x4a, 0x1e),
};

const DARK: Palette = Palette {
    paper: Color32::from_rgb(0x16, 0x17, 0x19),
    card: Color32::from_rgb(0x1e, 0x1f, 0x22),
    ink: Color32::from_rgb(0xe8, 0xe6, 0xe3),
    quiet: Color32::from_rgb(0x9c, 0x98, 0x91),
    line: Color32::from_rgb(0x34, 0x36, 0x3a),
    accent: Color32::from_rgb(0xa3, 0xb0, 0xff),
    on_accent: Color32::from_rgb(0x16, 0x17, 0x19),
    hover: Color32::from_rgb(0x2a, 0x2b, 0x2f),
    warning: Color32::from_rgb(0xe8, 0xa8, 0x7c),
};

/// Sets the colours of both themes. The system or the user chooses the theme.
pub fn apply(window: &Context) {
    // as a browser does if the system has no preference
    window.options_mut(|options| options.fallback_theme = Theme::Light);
    for (theme, palette) in [(Theme::Light, &LIGHT), (Theme::Dark, &DARK)] {
        window.style_mut_of(theme, |style| clothe(style, palette));
    }
}

fn clothe(style: &mut Style, palette: &Palette) {
    let size = |size| FontId::new(size, FontFamily::Proportional);
    style.text_styles = [
        (TextStyle::Small, size(12.0)),
        (TextStyle::Body, size(14.5)),
        (TextStyle::Button, size(14.0)),
        (TextStyle::Heading, size(18.0)),
        (TextStyle::Monospace, FontId::new(13.0, FontFamily::Monospace)),
    ]
    .into();
    style.spacing.item_spacing = vec2(8.0, 8.0);
    style.spacing.button_padding = vec2(10.0, 5.0);
    style.spacing.interact_size.y = 28.0;
    style.spacing.combo_width = 80.0;
    style.spacing.slider_width = 160.0;

    let visuals = &mut style.visuals;
    visuals.panel_fill = palette.paper;
    visuals.window_fill = palette.card;
    visuals.extreme_bg_color = palette.card;
    visuals.text_edit_bg_color = Some(palette.card);
    visuals.faint_bg_color = palette.hover;
    visuals.weak_text_color = Some(palette.quiet);
    visuals.hyperlink_color = palette.accent;
    visuals.warn_fg_color = palette.warning;
    visuals.error_fg_color = palette.warning;
    visuals.window_stroke = Stroke::new(1.0, palette.line);
    visuals.window_corner_radius = CornerRadius::same(10);
    visuals.menu_corner_radius = CornerRadius::same(8);
    visuals.popup_shadow =
        Shadow { offset: [0, 4], blur: 16, spread: 0, color: Color32::from_black_alpha(40) };
    visuals.window_shadow = visuals.popup_shadow;
    visuals.selection.bg_fill = palette.accent;
    visuals.selection.stroke = Stroke::new(1.0, palette.on_accent);
    visuals.slider_trailing_fill = true;
    visuals.text_cursor.stroke.color = palette.accent;

    let widget = |fill, text, line| WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: Stroke::new(1.0, line),
        corner_radius: CornerRadius::same(7),
        fg_stroke: Stroke::new(1.0, text),
        expansion: 0.0,
    };
    let widgets = &mut visuals.widgets;
    widgets.noninteractive = widget(palette.card, palette.ink, palette.line);
    widgets.inactive = widget(palette.card, palette.ink, palette.line);
    widgets.inactive.bg_fill = palette.line; // rails of sliders
    widgets.hovered = widget(palette.hover, palette.ink, palette.quiet);
    widgets.active = widget(palette.hover, palette.ink, palette.accent);
    widgets.open = widget(palette.hover, palette.ink, palette.line);
}

/// Shows the choice of the theme: system, light or dark. egui stores the choice.
pub fn show_choice(ui: &mut Ui) {
    let mut chosen = ui.ctx().options(|options| options.theme_preference);
    let before = chosen;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for (theme, name) in [
            (ThemePreference::System, "As the system"),
            (ThemePreference::Light, "Light"),
            (ThemePreference::Dark, "Dark"),
        ] {
            ui.selectable_value(&mut chosen, theme, RichText::new(name).small());
        }
    });
    if chosen != before {
        ui.ctx().set_theme(chosen);
    }
}

/// Draws a ring around what has the keyboard: a selected tab, a folded header or a slider of egui does not show it. A field with
/// text shows its cursor.
pub fn show_focus(window: &Context) {
    let Some(focused) = focused(window).filter(|widget| widget.interact_rect.is_positive()) else { return };
    let stroke = Stroke::new(2.0, window.global_style().visuals.selection.bg_fill);
    let painter = window.layer_painter(focused.layer_id);
    painter.rect_stroke(focused.interact_rect.expand(2.0), 8.0, stroke, StrokeKind::Outside);
}

/// At the end of a scrolling area: scrolls to the part to which the keyboard has moved, until all of it is seen or the user
/// scrolls.
pub fn follow_focus(ui: &Ui) {
    let (window, key) = (ui.ctx(), ui.scope_id().with("followed"));
    let here = |widget: &Response| widget.layer_id == ui.layer_id() && ui.min_rect().intersects(widget.rect);
    let Some(widget) = focused(window).filter(here) else {
        return window.data_mut(|data| data.remove::<Id>(key));
    };
    if window.data(|data| data.get_temp(key)) == Some(widget.id) {
        return;
    }
    let by_pointer = ui.input(|input| {
        let pointer = &input.pointer;
        pointer.any_down() || pointer.any_click() || input.smooth_scroll_delta() != Vec2::ZERO
    });
    let seen = widget.interact_rect.height() + 1.0 >= widget.rect.height().min(ui.clip_rect().height());
    if !by_pointer {
        ui.scroll_to_rect_animation(widget.rect.expand(4.0), None, ScrollAnimation::none());
    }
    if by_pointer || seen {
        window.data_mut(|data| data.insert_temp(key, widget.id));
    }
}

/// What has the keyboard, except fields with text.
fn focused(window: &Context) -> Option<Response> {
    let id = window.memory(|memory| memory.focused())?;
    window.read_response(id).filter(|_| TextEdit::load_state(window, id).is_none())
}

/// The colour of marks and selections.
pub fn accent(ui: &Ui) -> Color32 {
    ui.visuals().selection.bg_fill
}

/// The frame of a card.
pub fn card(ui: &Ui) -> Frame {
    Frame::new()
        .fill(ui.visuals().window_fill)
        .stroke(ui.visuals().window_stroke)
        .corner_radius(10)
        .inner_margin(Margin::same(12))
}
