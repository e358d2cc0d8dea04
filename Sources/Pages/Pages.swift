// Pages — the parts of pages, and the pages that users see.
//
// This module owns HTML with its escaping, the frame of a page with its content security policy, the parts of forms and
// lists, and the style and the texts of users' pages in each language. It also checks that a form or a cookie is the
// service's own. The folder `Users` contains the account page, the pages to which mailed links lead, the page that asks
// for a second factor at the end of a dialog, and the page of a deletion. These pages call only use cases that clients
// call, too.
//
// It must not know a protocol of clients, SQL or the administration. It sees HTTP and the use cases, and gets the error
// table from its caller.
