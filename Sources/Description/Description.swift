// Description — the terms in which settings, shapes of JSON and operations of an HTTP API are described.
//
// This module owns the declaration of a setting, JSON Schema and OpenAPI as far as the service needs them, and
// everything derived from a declaration: readers, writers, schemas, tables. It also owns the list of a document's
// problems.
//
// It must not know any setting or route, each of which is described where it is defined, nor HTTP or the database.
