// AdministrationAPI — the management listener: health, metrics, and the administration API for operators.
//
// This module owns the routes of the administration with their OpenAPI descriptions, the authentication of operators
// (`OperatorGate`), and the requests that the console makes to the routes within the process.
//
// It must not know a protocol of clients, SQL, Graph or mappings: it knows HTTP and the use cases, and receives the
// error table and pages from its callers.
