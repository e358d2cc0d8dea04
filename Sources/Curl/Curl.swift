// Curl — outbound HTTP, and mails to an SMTP server, through libcurl.
//
// Owns: one thread in `curl_multi_poll`, every connection that the process opens to such servers, and the rules that
// hold for all of them: https with verified certificates (plain http to loopback addresses alone), no redirects, no
// proxy, cookie or netrc from the environment, a deadline on the whole call, a cap on the reply, a bound on the calls
// in flight.
//
// Must not know: what is fetched and why. There is no word of Graph, tokens or users here, and nothing is retried.
// libcurl itself repeats a request in two cases: the server refused an HTTP/2 stream before handling it, and a reused
// connection turned out dead before a byte of the reply came. The second leaves open whether the server acted on the
// first copy, so a request that must never arrive twice says `reusesConnection: false`.
//
// A call goes: `HTTPRequest` (checked when it is made) → `CurlClient.send` (actor on `LoopThread`) → `HTTPTransfer`
// (one easy handle, its callbacks, the reply as it grows) → `HTTPReply` or `CurlError`. Nothing that these types print
// holds a query, a header's value or a body.
//
// A mail goes the same way: `SMTPMail` and `SMTPServer` → `CurlClient.send` → `SMTPTransfer` → `SMTPReply` or
// `SMTPFailure`, which tells whether the server may have the mail. Every mail has a connection of its own, so libcurl
// repeats none.

internal import CLibCurl

/// Brings libcurl up, once in the life of the process and before the first thread that uses it.
let libcurlStart: CURLcode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
