"""An OpenID provider of scripts/openid-test: Django OAuth Toolkit, with the login page of Django's administration.

The argument is a JSON file of settings (see `Provider.start` in openid-test.py). The program makes its database and its
keys in the folder that the settings name, unless they are there. Its issuer is at /o.
"""

import json
import pathlib
import sys

from jwcrypto.jwk import JWK

given = json.loads(pathlib.Path(sys.argv[1]).read_text())
folder = pathlib.Path(given["folder"])


def key(name):
    """Returns the private key of that name in PEM; makes it if it is not there."""
    path = folder / f"{name}.pem"
    if not path.exists():
        path.write_bytes(JWK.generate(kty="RSA", size=2048).export_to_pem(private_key=True, password=None))
    return path.read_text()


def configure():
    """Sets all settings of Django and of the toolkit. The issuer names itself in redirects (RFC 9207)."""
    from django.conf import settings

    apps = [f"django.contrib.{name}" for name in ("admin", "auth", "contenttypes", "sessions", "messages")]
    settings.configure(
        SECRET_KEY=given["secret"],
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=__name__,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "database"}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=[*apps, "oauth2_provider"],
        MIDDLEWARE=[
            "django.middleware.security.SecurityMiddleware",
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        # A hash of a password or of a client's secret would otherwise take most of the time.
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        LOGIN_URL="/admin/login/",
        STATIC_URL="/static/",
        USE_TZ=True,
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True,
            "OIDC_RSA_PRIVATE_KEY": key(given["keys"][0]),
            "OIDC_RSA_PRIVATE_KEYS_INACTIVE": [key(name) for name in given["keys"][1:]],
            "PKCE_REQUIRED": True,
            "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
            "SCOPES": {name: f"the scope {name}" for name in ("openid", "email", "profile", "introspection")},
            "OAUTH2_VALIDATOR_CLASS": f"{__name__}.Validator",
        },
    )
    import django

    django.setup()


def fill():
    """Makes the tables of the database, the users and the clients."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from oauth2_provider.models import get_application_model

    call_command("migrate", verbosity=0)
    user, application = get_user_model(), get_application_model()
    if user.objects.exists():
        return
    # The administration's login page lets only its own users in.
    for name in given["users"]:
        user.objects.create_superuser(name, password=given["password"])
    for client in given["clients"]:
        application.objects.create(
            name=client["id"],
            client_id=client["id"],
            client_secret=client["secret"],
            client_type=application.CLIENT_CONFIDENTIAL,
            authorization_grant_type=application.GRANT_AUTHORIZATION_CODE,
            redirect_uris=" ".join(client["redirectUris"]),
            algorithm=application.RS256_ALGORITHM,
        )


def run():
    from django.contrib import admin
    from django.core.servers.basehttp import run as serve
    from django.core.wsgi import get_wsgi_application
    from django.urls import include, path
    from oauth2_provider.oauth2_validators import OAuth2Validator

    class WithClaims(OAuth2Validator):
        """Writes the user's claims into ID tokens and userinfo, by the scopes of OpenID Connect."""

        def get_additional_claims(self, request):
            return given["users"][request.user.username]["claims"]

        def get_userinfo_claims(self, request):
            further = given["users"][request.user.username]["userinfo"]
            return {**super().get_userinfo_claims(request), **further}

    globals().update(
        Validator=WithClaims,
        urlpatterns=[path("admin/", admin.site.urls), path("o/", include("oauth2_provider.urls"))],
    )
    fill()
    serve("127.0.0.1", given["port"], get_wsgi_application(), threading=True)


configure()
run()
