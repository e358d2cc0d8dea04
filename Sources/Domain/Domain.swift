// Domain — the terms of the service: values and pure rules.
//
// This module owns the terms of the service as types (application, settings, provider, subject, property, session
// token…), the description of each setting, the failure that every use case throws, and the rules that depend on
// nothing but their arguments (which names are reserved, what a property type can hold).
//
// It must not know HTTP, SQL or responses of providers. Time and random bytes arrive as arguments: the module declares
// the system's clock and generator and never calls them.
