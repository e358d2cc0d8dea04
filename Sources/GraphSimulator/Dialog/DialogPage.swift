/// The HTML pages of the simulated login dialog.
///
/// They have no JavaScript, and screen readers can read them.
enum DialogPage {
    /// Renders the page with a choice of users, the requested permissions, and the buttons to continue and to cancel.
    static func choice(_ asked: DialogRequest, people: [Person]) -> String {
        let carried = asked.parameters.map { parameter in
            #"<input type="hidden" name="\#(parameter.name)" value="\#(escaped(parameter.value))">"#
        }
        let choices = people.enumerated().map { index, person in
            let name = person.fields["name"]?.string ?? person.key
            return """
                <label><input type="radio" name="person" value="\(escaped(person.key))" required\
                \(index == 0 ? " checked" : "")> \(escaped(name))</label>
                """
        }
        let permissions = asked.scopes.map { scope in
            """
            <label><input type="checkbox" name="granted" value="\(scope)" checked\
            \(DialogRequest.isOptional(scope) ? "" : " disabled")> \(scope)</label>
            """
        }
        let hint =
            asked.asksAgain
            ? "" : "<p>What a person declined before stays declined, unless the app asks again (rerequest).</p>\n"
        return page(
            title: "Log in with Facebook (simulated)",
            body: """
                <p><strong>\(escaped(asked.app.name))</strong> wants to know who you are.</p>
                <form method="post">
                \(carried.joined(separator: "\n"))
                <fieldset><legend>Continue as</legend>
                \(choices.joined(separator: "\n"))
                </fieldset>
                <fieldset><legend>Allow</legend>
                \(permissions.joined(separator: "\n"))
                </fieldset>
                \(hint)<p><button type="submit" name="action" value="continue">Continue</button>
                <button type="submit" name="action" value="cancel" formnovalidate>Cancel</button></p>
                </form>
                """
        )
    }

    /// Renders the page that reports an error in the app's request to the user.
    ///
    /// As at Facebook, only the user sees the error: the app gets no redirect.
    static func refusal(_ reason: String) -> String {
        page(title: "Sorry, something went wrong", body: #"<p role="alert">\#(escaped(reason))</p>"#)
    }

    /// Renders a page of any content, which is HTML.
    static func page(title: String, body: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        <title>\(title)</title>
        <style>
        body { font: 1rem/1.5 sans-serif; max-width: 28rem; margin: 2rem auto; padding: 0 1rem; }
        fieldset { margin: 1rem 0; }
        label { display: block; padding: .25rem 0; }
        button { font: inherit; padding: .5rem 1.5rem; }
        </style>
        </head>
        <body>
        <main>
        <h1>\(title)</h1>
        \(body)
        </main>
        </body>
        </html>

        """
    }

    /// Escapes a text for HTML.
    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;").replacing("'", with: "&#39;")
    }
}
