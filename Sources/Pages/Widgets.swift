import Encodings

// Parts that pages share.

extension HTML {
    // MARK: Forms

    /// Returns a hidden field of a form.
    package static func hidden(_ name: String, _ value: String) -> HTML {
        "<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">"
    }

    /// Returns a field of a form: a label, an input and a hint.
    ///
    /// - Parameters:
    ///   - name: The name by which the form sends the field.
    ///   - label: The visible label.
    ///   - type: The type of the input.
    ///   - value: The initial value.
    ///   - hint: A help text.
    ///   - problem: The error of the value.
    ///   - id: The id of the input element. Nil makes `name` the id, so only one field of the page may have that name.
    ///   - attributes: Further attributes of the input.
    /// - Returns: A paragraph.
    package static func field(
        _ name: String,
        _ label: HTML,
        type: String = "text",
        value: String = "",
        hint: HTML? = nil,
        problem: String? = nil,
        id: String? = nil,
        attributes: HTML = ""
    ) -> HTML {
        labelled(label, id: id ?? name, hint: hint, problem: problem) { described in
            "<input \(described) name=\"\(name)\" type=\"\(type)\" value=\"\(value)\" \(attributes)>"
        }
    }

    /// Returns a field for a text of several lines.
    package static func area(
        _ name: String,
        _ label: HTML,
        _ text: String,
        rows: Int,
        hint: HTML? = nil,
        attributes: HTML = "spellcheck=\"false\" autocomplete=\"off\""
    ) -> HTML {
        labelled(label, id: name, hint: hint) { described in
            // Browsers drop a newline at the start of the element.
            "<textarea \(described) name=\"\(name)\" rows=\"\(rows)\" \(attributes)>\n\(text)</textarea>"
        }
    }

    /// Returns a field in which one of several options is selected.
    package static func select(
        _ name: String,
        _ label: HTML,
        _ options: [(value: String, title: String)],
        chosen: String = ""
    ) -> HTML {
        labelled(label, id: name) { described in
            "<select \(described) name=\"\(name)\">\(HTML.options(options, chosen: chosen))</select>"
        }
    }

    /// Returns a form field with a label, a control that the caller creates, and help texts.
    ///
    /// The closure receives the HTML attributes by which the control refers to its label and texts.
    package static func labelled(
        _ label: HTML,
        id: String,
        hint: HTML? = nil,
        problem: String? = nil,
        note: HTML? = nil,
        _ control: (HTML) -> HTML
    ) -> HTML {
        let help = hint.map { "<small id=\"\(id)-hint\">\($0)</small>" as HTML }
        let wrong = problem.map { "<strong class=\"problem\" id=\"\(id)-problem\">\($0)</strong>" as HTML }
        let texts = [hint.map { _ in "\(id)-hint" }, problem.map { _ in "\(id)-problem" }].compactMap(\.self)
        let tied: HTML = """
            id="\(id)"\(" aria-describedby=\"\(texts.joined(separator: " "))\"", if: !texts.isEmpty)\
            \(" aria-invalid=\"true\"", if: problem != nil)
            """
        return "<p class=\"field\"><label for=\"\(id)\">\(label)</label>\(control(tied))\(help)\(wrong)\(note)</p>\n"
    }

    /// Returns a checkbox.
    ///
    /// If the box is ticked, the browser sends the field `name` with the text `value`.
    package static func tick(_ name: String, _ label: HTML, value: String = "yes", isTicked: Bool) -> HTML {
        """
        <label class="tick"><input type="checkbox" name="\(name)" value="\(value)"\(" checked", if: isTicked)> \
        <span>\(label)</span></label>
        """
    }

    /// Returns the button that sends a form.
    package static func submit(_ label: HTML, _ attributes: HTML = "") -> HTML {
        "<p><button\(" \(attributes)", if: !attributes.text.isEmpty)>\(label)</button></p>\n"
    }

    /// Returns the options of a select element; the option with the value `chosen` is selected.
    package static func options(_ options: [(value: String, title: String)], chosen: String) -> HTML {
        options.map { option -> HTML in
            "<option value=\"\(option.value)\"\(" selected", if: option.value == chosen)>\(option.title)</option>"
        }.joined()
    }

    // MARK: Messages and data

    /// Returns a message about what was just done.
    package static func notice(_ text: HTML) -> HTML { "<p class=\"notice\" role=\"status\">\(text)</p>\n" }

    /// Returns an error message; `more` is further HTML below it.
    package static func alert(_ text: HTML, _ more: HTML = "") -> HTML {
        "<div class=\"alert\" role=\"alert\"><p>\(text)</p>\(more)</div>\n"
    }

    /// Returns a description list of names and values.
    package static func facts(_ facts: [(name: HTML, value: HTML)]) -> HTML {
        let items = facts.map { fact -> HTML in "<div><dt>\(fact.name)</dt><dd>\(fact.value)</dd></div>" }
        return "<dl class=\"facts\">\(items)</dl>\n"
    }

    /// Returns a table with a heading for each column.
    ///
    /// `rows` has the cells of each row.
    package static func table(_ label: String, _ columns: [String], _ rows: [[HTML]], ifEmpty: HTML) -> HTML {
        table(label, of: rows, ifEmpty: ifEmpty) { cells in zip(columns, cells).map { ($0, $1) } }
    }

    /// Returns a table of items.
    ///
    /// In a wide window, the table scrolls separately from the page if it is too wide. In a narrow window, each item is
    /// a card, in which each value follows the heading of its column.
    ///
    /// - Parameters:
    ///   - label: The name of the table, for screen readers.
    ///   - items: The items.
    ///   - ifEmpty: The text in place of a table without items.
    ///   - below: Returns what stands below the cells of an item, across all columns; nil for nothing.
    ///   - row: Returns the cells of an item, each with the heading of its column.
    /// - Returns: The table.
    package static func table<Item>(
        _ label: String,
        of items: [Item],
        ifEmpty: HTML,
        below: (Item) -> HTML? = { _ in nil },
        _ row: (Item) -> [(column: String, cell: HTML)]
    ) -> HTML {
        let rows = items.map(row)
        guard let columns = rows.first?.map(\.column) else { return "<p class=\"empty\">\(ifEmpty)</p>" }
        let head = columns.map { column -> HTML in "<th scope=\"col\">\(column)</th>" }
        let body = zip(items, rows).map { item, row -> HTML in
            let cells = row.map { "<td data-column=\"\($0.column)\">\($0.cell)</td>" as HTML }
            let rest = below(item).map { "<tr><td colspan=\"\(columns.count)\">\($0)</td></tr>" as HTML }
            return "<tr>\(cells)</tr>\(rest)"
        }
        return """
            <div class="scroll" role="region" aria-label="\(label)" tabindex="0"><table><thead><tr>\(head)</tr></thead>\
            <tbody>\(body)</tbody></table></div>
            """
    }

    // MARK: Links

    /// Returns a link that looks like a button.
    package static func button(_ text: HTML, to path: String) -> HTML {
        "<a class=\"button\" href=\"\(path)\">\(text)</a>"
    }

    /// Returns the link to the next part of a list; empty on the last part.
    package static func next(_ cursor: String?, of path: String, _ query: [(name: String, value: String)] = []) -> HTML
    {
        guard let cursor else { return "" }
        return "<p>\(button("Next page", to: link(path, query + [("cursor", cursor)])))</p>"
    }

    /// Returns a path with a query.
    ///
    /// Empty values are left out.
    package static func link(_ path: String, _ query: [(name: String, value: String)]) -> String {
        let parameters = query.filter { !$0.value.isEmpty }
        return parameters.isEmpty ? path : path + "?" + PercentEncoding.query(parameters)
    }
}
