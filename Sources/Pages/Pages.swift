// Pages — the parts of pages, and the pages that users see.
//
// This module owns HTML with its escaping, the frame of a page with its content security policy, the parts of forms and
// lists, the style and the texts of users' pages in each language, and the checks that a form or a cookie is the
// service's own. The folder `Users` has the account page, the pages to which mailed links lead, the page that asks for
// a second factor at the end of a dialog, and the page of a deletion. These pages only call use cases that clients
// call, too.
//
// It must not know a protocol of clients, SQL or the administration: it sees HTTP and the use cases, and is handed the
// error table.
