"""The part of scripts/generator-test in which clients work with the service: each does the same, in its own calls."""

import argparse
import json
import unittest
import urllib.request
from uuid import UUID


def facebook_token():
    """A token of Ann's, as her app gets it of Facebook."""
    request = urllib.request.Request(f"{options.control}/tokens", json.dumps({"person": "ann"}).encode())
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as reply:
        return json.load(reply)["token"]


class OpenAPIGenerator(unittest.TestCase):
    """Clients of OpenAPI Generator for Python."""

    def management(self, api):
        import management_openapi_generator as made

        configuration = made.Configuration(host=options.management, access_token=options.operator)
        return getattr(made, api)(made.ApiClient(configuration))

    def log_in(self):
        import public_openapi_generator as made

        client = made.ApiClient(made.Configuration(host=options.public))
        user = made.LoginApi(client).login_with_facebook(
            made.Login(accessToken=facebook_token(), fieldsMapping={"first_name": "givenName"})
        )
        client.configuration.api_key["userToken"] = user.user_token
        return user, made.UserApi(client)

    def test_user(self):
        import public_openapi_generator as made

        user, users = self.log_in()
        self.assertEqual((user.email, user.name), ("ann@example.com", "Ann Müller"))
        self.assertEqual(user.additional_properties["givenName"], "Ann")
        read = users.read_own_user(user.object_id)
        self.assertEqual(read["givenName"], "Ann")
        self.assertEqual(read["birthday"], user.additional_properties["birthday"])
        record = made.UserRecord(name="Ann M.", additional_properties={"familyName": "M."})
        changed = users.update_own_user(user.object_id, record)
        self.assertEqual((changed.name, changed.additional_properties["familyName"]), ("Ann M.", "M."))

    def test_refusal(self):
        import public_openapi_generator as made

        api = made.LoginApi(made.ApiClient(made.Configuration(host=options.public)))
        with self.assertRaises(made.ApiException) as refused:
            api.login_with_facebook(made.Login(accessToken="EAAnothing"))
        self.assertEqual(json.loads(refused.exception.body)["errorData"]["reason"], "credential_invalid")

    def test_application(self):
        import management_openapi_generator as made

        api = self.management("ApplicationsApi")
        tag = api.read_application_with_http_info("demo").headers["ETag"]
        patch = made.ApplicationPatch.from_dict({"name": "Generated", "settings": {"banDays": 7}})
        changed = api.change_application("demo", tag, patch)
        self.assertEqual((changed.name, changed.settings.ban_days), ("Generated", 7))
        usual = made.ApplicationPatch.from_dict({"settings": {"banDays": None}})
        self.assertNotEqual(api.change_application("demo", "*", usual).settings.ban_days, 7, "null is the default")

    def test_property(self):
        import management_openapi_generator as made

        api = self.management("PropertiesApi")
        declared = api.declare_property("demo", "*", made.NewProperty(name="shoeSize", type="INT"))
        self.assertFalse(declared.indexed)
        changed = api.change_property("demo", "shoeSize", "*", made.PropertyPatch(clientMappable=True))
        self.assertTrue(changed.client_mappable)
        self.assertIn("shoeSize", [found.name for found in api.list_properties("demo").items])

    def test_mapping(self):
        import management_openapi_generator as made

        api = self.management("MappingsApi")
        read = api.read_mapping_with_http_info("demo", "facebook")
        entries = [*read.data.entries, made.Entry(**{"from": "location.name", "to": "handle", "default": "nowhere"})]
        written = api.put_mapping("demo", "facebook", read.headers["ETag"], made.MappingDocument(entries=entries))
        self.assertEqual(written.revision, read.data.revision + 1)
        again = api.read_mapping("demo", "facebook").entries
        self.assertEqual((again[-1].to, again[-1].default), ("handle", "nowhere"))
        as_read = made.MappingDocument.from_dict(read.data.to_dict())
        self.assertEqual(api.put_mapping("demo", "facebook", "*", as_read).entries, read.data.entries)

    def test_document(self):
        api = self.management("DocumentsApi")
        read = api.read_document_with_http_info("demo")
        document = read.data
        self.assertEqual(document.properties["birthday"].type, "DATE")
        self.assertEqual(api.put_document("demo", document, dry_run=True, if_match="*").changes, [])
        document.settings.roles = ["courier"]
        plan = api.put_document("demo", document, if_match=read.headers["ETag"])
        self.assertEqual(len(plan.changes), 1)
        self.assertEqual(api.read_document("demo").settings.roles, ["courier"])

    def test_person(self):
        import management_openapi_generator as made

        user, _ = self.log_in()
        api = self.management("UsersApi")
        api.change_user_properties("demo", user.object_id, "*", {"city": "Bern"})
        for patch in [
            made.UserPatch(userStatus="DISABLED"),
            made.UserPatch(user=made.UserStatusPatch(userStatus="ENABLED")),
        ]:
            person = api.change_user("demo", user.object_id, "*", patch)
        self.assertEqual(person.user.user_status, "ENABLED")
        self.assertEqual(person.user.additional_properties["city"], "Bern")


class OpenAPIPythonClient(unittest.TestCase):
    """Clients of openapi-python-client."""

    @property
    def management(self):
        from management_openapi_python_client import AuthenticatedClient

        return AuthenticatedClient(options.management, token=options.operator, raise_on_unexpected_status=True)

    def log_in(self):
        from public_openapi_python_client import AuthenticatedClient, Client, models
        from public_openapi_python_client.api.login import login_with_facebook

        mapping = models.FieldsMappingType0.from_dict({"first_name": "givenName"})
        user = login_with_facebook.sync(
            client=Client(options.public), body=models.Login(access_token=facebook_token(), fields_mapping=mapping)
        )
        self.assertIsInstance(user, models.User, user)
        client = AuthenticatedClient(
            options.public, token=user.user_token, prefix="", auth_header_name="user-token"
        )
        return user, client

    def test_user(self):
        from public_openapi_python_client import models
        from public_openapi_python_client.api.user import read_own_user, update_own_user

        user, client = self.log_in()
        self.assertEqual(user.email, "ann@example.com")
        read = read_own_user.sync(user.object_id, client=client)
        self.assertEqual(read["givenName"], "Ann")
        record = models.UserRecord.from_dict({"familyName": "Müller-M."})
        changed = update_own_user.sync(user.object_id, client=client, body=record)
        self.assertEqual(changed["familyName"], "Müller-M.")

    def test_application(self):
        from management_openapi_python_client import models
        from management_openapi_python_client.api.applications import change_application, read_application

        tag = read_application.sync_detailed("demo", client=self.management).headers["ETag"]
        patch = models.ApplicationPatch.from_dict({"name": "Generated again", "settings": {"banDays": 8}})
        changed = change_application.sync("demo", client=self.management, body=patch, if_match=tag)
        self.assertEqual((changed.name, changed.settings.ban_days), ("Generated again", 8))

    def test_property(self):
        from management_openapi_python_client import models
        from management_openapi_python_client.api.properties import change_property, declare_property, list_properties

        wish = models.NewProperty(name="hatSize", type_=models.PropertyType.DOUBLE)
        declared = declare_property.sync("demo", client=self.management, body=wish, if_match="*")
        self.assertFalse(declared.client_mappable)
        patch = models.PropertyPatch(client_mappable=True)
        changed = change_property.sync("demo", "hatSize", client=self.management, body=patch, if_match="*")
        self.assertTrue(changed.client_mappable)
        found = list_properties.sync("demo", client=self.management)
        self.assertIn("hatSize", [found.name for found in found.items])

    def test_mapping(self):
        from management_openapi_python_client import models
        from management_openapi_python_client.api.mappings import put_mapping, read_mapping

        read = read_mapping.sync_detailed("demo", "twitter", client=self.management)
        entries = [*read.parsed.entries, models.Entry(from_="location", to="city")]
        written = put_mapping.sync(
            "demo",
            "twitter",
            client=self.management,
            body=models.MappingDocument(entries=entries),
            if_match=read.headers["ETag"],
        )
        self.assertEqual(written.entries[-1].to, "city")
        as_read = models.MappingDocument.from_dict(read.parsed.to_dict())
        again = put_mapping.sync("demo", "twitter", client=self.management, body=as_read, if_match="*")
        self.assertEqual(len(again.entries), len(read.parsed.entries))

    def test_document(self):
        from management_openapi_python_client import models
        from management_openapi_python_client.api.documents import put_document, read_document

        document = read_document.sync("demo", client=self.management)
        self.assertIsInstance(document, models.Document)
        plan = put_document.sync("demo", client=self.management, body=document, dry_run=True, if_match="*")
        self.assertEqual(plan.changes, [])
        document.name = "By a document"
        plan = put_document.sync("demo", client=self.management, body=document, if_match="*")
        self.assertEqual(len(plan.changes), 1)

    def test_person(self):
        from management_openapi_python_client import models
        from management_openapi_python_client.api.users import change_user, change_user_properties, read_user

        user, _ = self.log_in()
        values = models.UserProperties.from_dict({"greeting": "Salü"})
        change_user_properties.sync("demo", user.object_id, client=self.management, body=values, if_match="*")
        patch = models.UserPatch.from_dict({"user": {"userStatus": "ENABLED"}})
        change_user.sync("demo", user.object_id, client=self.management, body=patch, if_match="*")
        person = read_user.sync("demo", user.object_id, client=self.management)
        self.assertEqual(person.user["greeting"], "Salü")


class DataModels(unittest.TestCase):
    """Models of datamodel-code-generator, which makes no calls."""

    def test_user(self):
        import public_datamodels as made

        login = made.Login(accessToken=facebook_token(), fieldsMapping={"first_name": "givenName"})
        request = urllib.request.Request(
            f"{options.public}/users/loginWithFacebook",
            login.model_dump_json(exclude_none=True, by_alias=True).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as reply:
            told = json.load(reply)
        user = made.User.model_validate(told)
        self.assertEqual(user.objectId, UUID(told["objectId"]))
        self.assertEqual(user.model_extra["givenName"], "Ann")
        kept = user.model_dump(mode="json", by_alias=True, exclude_unset=True)
        self.assertEqual({name.lower() for name in told}, {name.lower() for name in kept})

    def test_document(self):
        import management_datamodels as made

        request = urllib.request.Request(
            f"{options.management}/admin/v1/applications/demo/document",
            headers={"Authorization": f"Bearer {options.operator}"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as reply:
            told = json.load(reply)
        document = made.Document.model_validate(told)
        self.assertEqual(document.model_dump(mode="json", by_alias=True, exclude_unset=True), told)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("public", "management", "control", "operator"):
        parser.add_argument(f"--{name}", required=True)
    options, arguments = parser.parse_known_args()
    # Clients of openapi-python-client leave their connections to the garbage collector.
    unittest.main(argv=[__file__, *arguments], warnings="ignore")
