// Providers — what an identity provider is to the rest of the service.
//
// Owns: the words in which use cases speak with a provider whose word counts for who a person is. A *kind* of provider
// (`ProviderKind`) is made once, in the wiring, from the client that asks it; it knows its fields, options and the
// words of its documents, and makes the *provider* of an application from what an operator has set. A provider has the
// capabilities that it conforms to, each a protocol of its own: a use case asks for the one that it needs.
// `ProviderKinds` finds kinds by their names at run time.
//
// Must not know: any provider, the database, or what is done with an answer. Data runs one way: a provider gets what it
// uses and hands back a value.
