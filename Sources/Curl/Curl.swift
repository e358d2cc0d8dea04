// Curl — outbound HTTP requests, and mails to an SMTP server, through libcurl.
//
// It owns one thread in `curl_multi_poll`, every outbound connection to such servers, and the rules for all of them:
// https with verified certificates (plain http only to loopback addresses); no redirects; no proxy, cookie or netrc
// from the environment; a deadline for the whole call; a size limit for the response; a limit for the calls in flight.
//
// It must not know what is requested and why: Graph, tokens and users do not occur here, and nothing is retried.
// libcurl itself repeats a request in two cases: the server refused an HTTP/2 stream before handling it, or a reused
// connection turned out dead before the first byte of the response. In the second case the server may have acted on the
// first copy, so a request that must never arrive twice sets `reusesConnection: false`.
//
// An HTTP call: `HTTPRequest` (checked on creation) → `CurlClient.send` (actor on `LoopThread`) → `HTTPTransfer` (one
// easy handle, its callbacks, the response received so far) → `HTTPReply` or `CurlError`. The descriptions of these
// types contain no query, no header value and no body.
//
// A mail: `SMTPMail` and `SMTPServer` → `CurlClient.send` → `SMTPTransfer` → `SMTPReply` or `SMTPFailure`, which tells
// whether the server may have the mail. Every mail has a connection of its own, so libcurl repeats none.

internal import CLibCurl

/// The result of initializing libcurl.
///
/// libcurl is initialized once in the life of the process, before the first thread that uses it starts.
let libcurlStart: CURLcode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
