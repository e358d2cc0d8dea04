#include "CEmbeddedFiles.h"

// #embed is of C23; clang has it as an extension of every earlier C.
#pragma clang diagnostic ignored "-Wc23-extensions"

#define CONTENTS(array) (EmbeddedFile) { .bytes = array, .count = sizeof array }

static const uint8_t application_schema[] = {
#embed "../../mappings/application.schema.json"
};
EmbeddedFile embedded_application_schema(void) { return CONTENTS(application_schema); }

static const uint8_t common_passwords[] = {
#embed "../Passwords/common-passwords.txt"
};
EmbeddedFile embedded_common_passwords(void) { return CONTENTS(common_passwords); }

static const uint8_t management_openapi[] = {
#embed "../../docs/openapi/management.json"
};
EmbeddedFile embedded_management_openapi(void) { return CONTENTS(management_openapi); }

static const uint8_t public_openapi[] = {
#embed "../../docs/openapi/public.json"
};
EmbeddedFile embedded_public_openapi(void) { return CONTENTS(public_openapi); }

static const uint8_t schema[] = {
#embed "../../schema.sql"
};
EmbeddedFile embedded_schema(void) { return CONTENTS(schema); }
