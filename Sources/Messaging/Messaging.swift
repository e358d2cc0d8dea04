// Messaging — mails and text messages, from their cause to their acceptance by a server.
//
// This module owns, in `Notices`, the queue of mails, their links, the notices about changes of an account with their
// limits, and the delivery in the background. In `Mails`, it owns the templates and their languages, the composition of
// a message (RFC 5322, MIME), and two ways of delivery: an SMTP server, or a folder where a developer reads mails that
// would have been sent. In `SMS`, it owns telephone numbers and their countries' prefixes, the words of a message, and
// its delivery: a signed HTTP POST (Standard Webhooks) to the gateway that the operator runs.
//
// It must not know the use cases that cause a message, nor factors, prices or vendors. Every shown value is escaped for
// its context, and no value can add a header. No outcome holds a number, a code or a link.
