// Providers — the interface between the service and identity providers, and the rules for calls of any provider.
//
// This module owns the types that use cases share with providers. A *provider kind* (`ProviderKind`) is made once, in
// the wiring, from the client for its API. It knows its fields, its options and the terms of its documents, and makes
// the *provider* of an application from the operator's settings. A provider has the capabilities that it conforms to,
// each a protocol of its own; a use case asks for the capability that it needs. `ProviderKinds` finds kinds by their
// names at run time.
//
// The folder `Calls` owns the rules for calls of any provider: the meaning of a call without a response, what a fault
// says about the provider's health (`HealthSignal`), when no requests are sent (`CircuitBreaker`), the backoff before a
// retry, and the resulting failures. It also owns the declaration of environment variables (`Variable`).
//
// The module must not know any provider, the database, or the use of a result. Data flows one way: a provider gets its
// inputs and returns a value.
