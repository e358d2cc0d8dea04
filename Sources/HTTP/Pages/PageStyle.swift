import Crypto
import FoundationEssentials
import Glibc
import Vocabulary

/// How pages look: one style sheet for all, and the color of an application.
///
/// A policy admits both by their digests, so that no other style counts, whatever got into a page.
enum PageStyle {
    /// For light and dark, from 320 px of width on, and at any size of text: widths are in `rem`, and nothing is beside
    /// anything that needs room.
    static let sheet = """
        :root {
            color-scheme: light dark;
            --page: #eef0f3; --card: #fff; --text: #1b1d21; --quiet: #545a63; --line: #d5d9df; --edge: #767c86;
            --field: #fff; --calm: #f5f6f8; --alert: #a3201a; --alert-page: #fdeceb;
        }
        @media (prefers-color-scheme: dark) {
            :root {
                --page: #111316; --card: #1c1f24; --text: #eceef1; --quiet: #aab1bb; --line: #363b43; --edge: #89909b;
                --field: #121418; --calm: #24282e; --alert: #ffb4ab; --alert-page: #3a1614;
            }
        }
        *, ::before, ::after { box-sizing: border-box; }
        html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
        body {
            margin: 0; padding: min(1rem, 4vw); min-height: 100vh; background: var(--page); color: var(--text);
            font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
            overflow-wrap: break-word;
        }
        .card {
            max-width: 28rem; margin: 0 auto; padding: 1.5rem min(1.25rem, 6vw); background: var(--card);
            border: 1px solid var(--line); border-top: .25rem solid var(--accent); border-radius: .75rem;
        }
        @media (min-width: 30rem) {
            body { padding: 3rem 1rem; }
            .card { padding: 2rem; }
        }
        header {
            display: flex; flex-wrap: wrap; align-items: center; gap: .75rem; margin-bottom: 1.5rem;
            color: var(--quiet);
        }
        header p { margin: 0; min-width: 0; font-weight: 600; }
        header img { flex: none; max-width: 50%; max-height: 3rem; }
        main { hyphens: auto; }
        h1, h2 { margin: 0 0 .75rem; line-height: 1.25; text-wrap: balance; }
        h1 { font-size: max(1.1rem, min(1.5rem, 8vw)); }
        h2 { margin-top: 2rem; padding-top: 1.5rem; border-top: 1px solid var(--line); font-size: 1.2rem; }
        p, ul { margin: 0 0 1rem; }
        form + form { margin-top: .75rem; }
        form > :last-child, main > :last-child { margin-bottom: 0; }
        label { display: block; font-weight: 600; }
        label.choice { display: flex; align-items: flex-start; gap: .75rem; font-weight: 400; }
        input {
            display: block; width: 100%; min-height: 2.75rem; margin-top: .25rem; padding: .5rem .75rem;
            border: 1px solid var(--edge); border-radius: .5rem; background: var(--field); color: inherit;
            font: inherit; font-weight: 400;
        }
        input[type="checkbox"] {
            flex: none; width: 1.25rem; min-height: 1.25rem; margin-top: .125rem; accent-color: var(--accent);
        }
        input[readonly] { border-color: var(--line); background: var(--calm); color: var(--quiet); }
        input[name="code"] { letter-spacing: .1em; }
        .rule { margin-top: -.5rem; padding-left: 1.25rem; color: var(--quiet); font-size: .9375rem; }
        button {
            width: 100%; min-height: 2.75rem; padding: .5rem 1rem; border: 1px solid var(--edge); border-radius: .5rem;
            background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; cursor: pointer;
        }
        button.other { background: transparent; color: inherit; font-weight: 400; }
        a.button {
            display: block; min-height: 2.75rem; padding: .5rem 1rem; border: 1px solid var(--edge);
            border-radius: .5rem; text-align: center; text-decoration: none;
        }
        a.button:hover { text-decoration: underline; }
        button:hover { text-decoration: underline; }
        a { color: inherit; }
        :focus-visible { outline: .1875rem solid var(--text); outline-offset: .125rem; }
        [role="alert"] {
            padding: .75rem 1rem; border-left: .25rem solid var(--alert); border-radius: .25rem;
            background: var(--alert-page); color: var(--alert);
        }
        [role="alert"]:empty { display: none; }
        code {
            font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; hyphens: none; overflow-wrap: anywhere;
        }
        .codes {
            display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .5rem; padding: 0;
            list-style: none;
        }
        .codes li { padding: .375rem .5rem; border-radius: .375rem; background: var(--calm); text-align: center; }
        .picture { max-width: 14rem; margin: 0 auto 1rem; }
        .picture svg { display: block; width: 100%; border-radius: .375rem; }
        dl { margin: 0 0 1rem; }
        dt { color: var(--quiet); font-size: .9375rem; }
        dd { margin: 0 0 .5rem; }
        .rows { padding: 0; list-style: none; }
        .rows li { padding: .75rem 0; border-top: 1px solid var(--line); }
        .rows li:first-child { border-top: 0; }
        .rows p { margin: 0; }
        .rows p + p { color: var(--quiet); font-size: .9375rem; }
        .rows form { margin-top: .5rem; }
        .split { display: flex; gap: .75rem; align-items: flex-start; justify-content: space-between; }
        .split > div { min-width: 0; overflow-wrap: anywhere; }
        .split form { flex: none; margin: 0; }
        button.small { width: auto; padding: .25rem .75rem; font-size: .9375rem; }
        [role="status"] { padding: .75rem 1rem; border-left: .25rem solid var(--accent); background: var(--calm); }
        @media (prefers-reduced-motion: no-preference) {
            button, input { transition: border-color .15s, box-shadow .15s; }
        }
        """
    /// SHA-256 of the style sheet as base64; a test holds it to the style sheet.
    static let sheetDigest = "2WVZNTGXAIGjI1E+kRt4bzaZsmxdg49RL/dw38L6ias="

    /// Of applications that have none of their own.
    private static let usual: (accent: String, onAccent: String) = ("#1f4fd8", "#ffffff")

    /// The color of an application, and that of text on it, as a style sheet, with its digest.
    static func colors(of settings: PageSettings) -> (sheet: String, digest: String) {
        let (accent, onAccent) = settings.color.map { ($0.text, isDark($0) ? "#ffffff" : "#000000") } ?? usual
        let sheet = ":root { --accent: \(accent); --on-accent: \(onAccent); }"
        return (sheet, Data(SHA256.hash(data: Data(sheet.utf8))).base64EncodedString())
    }

    /// Whether white can be read on it better than black, by the contrast ratio of WCAG 2.2.
    ///
    /// The better of both has a contrast of 4.58 at least, whatever the color: √21.
    private static func isDark(_ color: PageColor) -> Bool {
        let luminance = luminance(of: color)
        return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05
    }

    /// WCAG 2.2, relative luminance.
    static func luminance(of color: PageColor) -> Double {
        func linear(_ channel: UInt8) -> Double {
            let value = Double(channel) / 255
            return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue)
    }
}
