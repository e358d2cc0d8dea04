#pragma once
#include <stddef.h>
#include <stdint.h>

// The bytes of a file of the repository; they are a part of the program and live as long as the process.
typedef struct {
    const uint8_t *_Nonnull bytes;
    size_t count;
} EmbeddedFile;

EmbeddedFile embedded_application_schema(void);
EmbeddedFile embedded_common_passwords(void);
EmbeddedFile embedded_management_openapi(void);
EmbeddedFile embedded_public_openapi(void);
EmbeddedFile embedded_schema(void);
