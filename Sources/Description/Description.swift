// Description — the declarations of settings, of JSON structures and of operations of an HTTP API.
//
// This module owns the declaration of a setting, JSON Schema and OpenAPI as far as the service needs them, and
// everything that is derived from a declaration: readers, writers, schemas, tables. It also owns the list of a
// document's problems.
//
// It must not know any setting or route: each is declared in the module that defines it. It must not know HTTP or the
// database.
