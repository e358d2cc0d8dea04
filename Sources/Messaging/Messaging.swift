// Messaging — mails and text messages, from their cause to their acceptance by a server.
//
// This module owns, in `Notices`, the queue of mails, the links in mails, the notices about changes of an account with
// their limits, and the delivery in the background. In `Mails`, it owns the templates and their languages, the
// composition of a message (RFC 5322, MIME), and two ways of delivery. One is an SMTP server. The other is a folder, in
// which a developer reads the mails that would have been sent. In `SMS`, it owns telephone numbers with their
// countries' prefixes, the words of a message, and the delivery of a message: a signed HTTP POST (Standard Webhooks) to
// the operator's gateway.
//
// It must not know the use cases that cause a message, nor factors, prices or vendors. Every value in a mail is escaped
// for its context, and no value can add a header. No outcome contains a telephone number, a code or a link.
