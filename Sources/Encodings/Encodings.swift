// Encodings — representations of values as text and bytes.
//
// This module owns the JSON value with the service's only JSON parser and only JSON writer. It also owns JSON Pointer
// and merge patch, queries and forms, percent-encoding, base64url and hexadecimal, and the comparison of texts and
// bytes.
//
// It must not know the domain, HTTP, SQL, clocks or randomness. It imports no other module of the service.
