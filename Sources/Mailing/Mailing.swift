// Mailing — mails from what they are about to the mail server.
//
// It owns the templates and their languages, the composition of a message (RFC 5322, MIME), and the two ways out: an
// SMTP server, or a folder where a developer reads what would have been sent.
//
// It must not know of users, applications, links or the queue: values arrive ready to be shown, and what an outcome
// means for the next attempt is decided above. Whatever is shown is escaped for where it stands, and nothing in it can
// add a header.
