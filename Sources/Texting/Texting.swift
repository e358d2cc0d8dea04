// Texting — codes and links by SMS, from what they say to the gateway that the operator runs.
//
// It owns telephone numbers and their countries' prefixes, the words of a message, and the one way out: a signed HTTP
// POST (Standard Webhooks), behind which any vendor fits.
//
// It must not know of users, factors, prices or vendors, nor when another message may be sent: what is sent
// arrives ready, and what became of it goes back. No outcome holds a number, a code or a link.
