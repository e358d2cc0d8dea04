// Providers — the interface between the service and identity providers, and the rules for calls of any provider.
//
// This module owns the types that use cases share with providers. The wiring makes each *provider kind*
// (`ProviderKind`) once, from the client for the kind's API. A kind knows its fields, its options and the terms of its
// documents. From an operator's settings, it makes the *provider* of an application. Each capability of a provider is a
// protocol that the provider conforms to. A use case asks for the capability that it needs. `ProviderKinds` finds kinds
// by their names at run time.
//
// The folder `Calls` owns the rules for calls of any provider: the meaning of a call without a response, what a fault
// shows about the provider's health (`HealthSignal`), when no requests are sent (`CircuitBreaker`), the backoff before
// a retry, and the resulting failures. It also owns the declaration of environment variables (`Variable`).
//
// The module must not know any particular provider, the database, or the use of a result. Data flows in one direction:
// a provider gets its inputs and returns a value.
