// AdministrationAPI — the management listener: health, metrics, and the administration API for operators.
//
// This module owns the routes of the administration with their OpenAPI descriptions, the authentication of operators
// (`OperatorGate`), and the requests that the console makes to the routes within the process.
//
// It must not know a protocol of clients, SQL, Graph or mappings. It knows HTTP and the use cases. Its callers supply
// the error table and the pages.
