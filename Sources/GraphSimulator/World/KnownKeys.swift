/// The keys with which every simulator starts, in base64 of PKCS #1.
///
/// Because the keys are fixed, a demo's tokens stay valid after a restart, and no start has to generate RSA keys, which
/// takes long. The keys are public here, so only tests may trust them.
enum KnownKeys {
    /// The published key that the first rotation retires.
    static let older = """
        MIIEpAIBAAKCAQEAo5AByVRKgRhH4jf4fbx8D5zK/87fmzjU1Lamzi4RUxWqh+xpj4GqRvdlb5GqWnZqF3fdhelVchE5e1lbSqJo5Ntx\
        XY07XBPgEt5a3WTuoCFpy9W3/FUqMfUjCsNuAg/m7parXZlwGl3O854v28NmhFSYQMPFS663lGGaDKaJCqAbkcjPnV/rOK5xffz3xWDn\
        xMb7DsMhDGgziHw1dVuTcXPmjHghtuWrz0cO1eW6S2994/Ckpcyzd1Be3x1TUWeIKga8uKy9tfaqIZAvb72oysuXj+CkiH5AsF7B2sbX\
        T17rTkiR+evkoANB3f030iscSGZ3bC00YItuLWeFoFzmtQIDAQABAoIBAAJO/Qd3bhnGWvVhbttvdpzNzLuxksxhD/f0oAQW+F2g16hV\
        eOPyo5Ge2kqp1qqyMysjoPfL5E3Y2mPYTgaOpkZcpov4e1cAXNBHXSb0zr1p21FqMc+Y8CCGYjk7qujSiqLhc4e9q6xjmJEtsWU7q83A\
        V+nKGZXI4IRyoDb/fr2soQu/Gefe6b+rJQQlh735D+tboFHYtse+yeZyCGCWbvxa180b9VzMvttWlk9YnzeLd/4u6N7evJqmL+x8oqu3\
        GE6mpVhWp13DevC9kOFMmDT6mrUUuc8L2ptdOUqrn0BljOk7iozJI2q6wZSNiNG76nGWLmvzeRcTTZew37/JSGECgYEA3TbpJEB7NUiA\
        Ut8aeVLeWZFncSXafNjVM1dO5r6hT2VXM08yp09Qfb6gNgKMJTuKAtd53NG1KCxqvmzr1cjTzZM/XmQT5MqlRa/6qzTAVc8JLNW6e04V\
        zZGOIWLoLFqu4q5qPj9HK53U9uX5z2PeoXn1St1OSSfc698/72t+TGkCgYEAvUhKUSXec1sJrMsDvE0ztake3em6zZZ+5UgqlsaOGlDL\
        kTYkad26XEKfMfWvxkdVsfFeaT0XabK9D8rgoj6/c0GM+VGNlP+QTE4E4LRaulTtZqmzVmcPJzqJmHi5U8Wxm+tMQnrMhQPLIND1d5QC\
        0C9pJVNlsB7Vn6Smfw2Prm0CgYEAiDpzkt6ewW53kBFStVpCEbiIklZ0WaQSj3552YGVx1YqQC/Kitw+PmGxOfGRqrAiyqM1qbX/MNFB\
        nylmho4ZWSUPxiotUh01cFfyL5LZyz4ncVPhdmPc625yr77AKehigLhWNyUyx/p3luCDWaMwDBMV6tekiUqiMyOVtPRmn9kCgYAvWsKd\
        Aqhgm8oT3MaWeYoSTLlYM310qc4ddqyRBCPRGZ2UOsNpaPuS0Wgai6jqJjaeShCgq5QL8ZezN8JzVNd48lFenrSZLkbfkDVQMk7whwbN\
        xG8FkssLuW1rI+jZuH/yzi9KAobgUE6layG+RN1fUD0yBWdPZKd1RTASYUYtEQKBgQCPg2B2EbjLC4FzS/TnBNGlDdZ6hmdSXfXD3Y/r\
        +6lzXrP7BjFSVIQfz8m4Jx+h0+vhSOQ5odJZ2EdCQ92aGerTa63cWNBRofcydqlr1p9HAnkh+GgJJNXcD9KFmeMb4c711ubuOqZV5jg7\
        KWqWye2y9RJnCNvGfcUcm9JuH/r+lQ==
        """

    /// The published key that signs.
    static let newer = """
        MIIEpAIBAAKCAQEAxSKVz0c5CwPeNvjYoeMazcwFxqgzhJFHtl5i3eH31AREprM67CXKVE5msia4U6I12R+cu5Ia1wyWZsHiFTjQAKLs\
        3R3SfNluFxP8R4O/2peYa1RdfHbQQuW8rgBdbGugYH2k7aN4/acf9aW4el0Vqcs2tHyCkO886S6bsdptWhkwaE36qXnEGVzO3P2hFjVt\
        QjTuVZu8k6QFswSr80l3OHUsTYRT9z4dNTyPTHAhAX+TyXcYLcLGtgYrRk+X51PL/tDNEh+AUvWXCzMI432XoJh1GOdas150DG/aiVfM\
        4TlPcyHqyneKBKsAhLy2Pa9VIFbJ/gqhLi8V6UCFCNtENQIDAQABAoIBAACLcVYGs0U7msDUobFFfHS5SFfNmFeDWOsg/3gaUHy9EUfT\
        oslLFnAdXQJyLHFgt0eKYzy6cTQLFHGkE1ZDLKyfxp9Fc+gv5/JiNgDS6p61lgXP5cflrSV41zNfjA00Dpf4U5Jrhfakyv1lr+jjT8oY\
        ZhDhb4aWfqOB+ItT2EMBjGUT1pAhl98UsPuqJv/g7LDjXtcm+1JHbOMm2VZNrmbfxsnV5bTzhiG6WwonbFtHOu013YuJ446Egh9qCCUi\
        /132oIuZ1cBc0G7pu9wtnmhXYUXtCnLIQyFr0BdZFsCD18d2qLiILGfov340TAKcKryAsdSufTI490GyVZLhhxECgYEA/NDMUpq0pE/h\
        RYaOwmypOvf4yFVlAckT3dmExoHiPdJPw4jrNSfur2HP87jhgb0kjkXDETZtEHvHEvhZ0Wih20CvJjNXMzIwLD71CiWt35M/rd9V8inC\
        kru82XPELMg0RdRPFLgePAAKgcZvoF0JjkL4lpXyr+uMEkUvENK72YUCgYEAx54+5T5/YJJgd8CBfLgHF1c5lj2544nFwmypu/6DU3lz\
        SYICQ6mjbXhB74+an7BhzO6dZmjg8hbPzV6Wno4LWjzI7dKU6NQaLNy8Iupfj5UCnY8gBIgiEhCStPzRVX7KbIApowaZeyPdTifNT/iq\
        eIRmzPgxj+LdPdg/QMce5vECgYBNRIuOG5ZmObvCAhQTvB4k1bEFmYPbfddCkL6R5RR+jI6wVmJ8xo2esKhb9v+FJYfMq+mokxfWV95K\
        H/ljlTUSy7w8UqiuDwLGIx/FUCrKEDkALSgZcUX0jshzNXyZqz6+sNrSnEsxT1nmu/1V59mJz1ImxAF+XuFanCZ8X8vl+QKBgQCoWV5D\
        6hR09p4jAJhz/aQFXEu12LL4Ig5FrWzsnnZVJP1Exj9wnxW0UhKRnjPSb2fb9HWMk/D6WqDAXAB9EeCjJtZyNAHf5ll48mQ8shsLtajy\
        Bm4DRGgvggioWPuWtgqzvNbgpcU1JAcVTd4KjvX+E/O686qg5bye1sxprkTykQKBgQCQSKYxStv/HprzbMSoNShQ+3bQDFCUUT361HdE\
        8nHbiQIdNDj9YmOsw6pCWBxrRRTaUwcyvHHyu30oSRw0dSJOazUlT6ciEpMMRESMmxGVlp5pGV2grsesAqFRkSHIJ6BCv2WjxnEMqHMJ\
        vSYOZxa2U/jpF1uVeEaN29XVcFRSFQ==
        """

    /// The key that is never published.
    static let unpublished = """
        MIIEowIBAAKCAQEAuBLq55DU8rnOzuSByTHR8/alXlVuV1lXm9o2dCRoHAPoZsW+kg+FWi3dULFP4+8YrqlOO9rNvcSb8n8gW7vu6iGm\
        UCAC/XB1l1wXWtUE7V09gKhuRD2gcEIov8hdgGraVlnLzmBGxQUTsBmBxllIM5dCppP2x4AOO6NvZkOst5d8EI1oiydpTKWdtls9ABP1\
        G8X/HQiXsiOXuItYGgTX5KT+t9gZsmYyRx/ZytK0Qd3JQKw52ZPxviCMxqyYuSXVnPiZgvB/qCyf3Kbf0WaBlyOfh8GgmVOB2eWXVBWD\
        Rbssp6l6bE3yIt+QPKlIPPf0VYKD1Gn1GWkZ4GJcwulKzwIDAQABAoIBAByf+H61Q6BRa8s5tsMiZ7twFixSzbtwrdKTPxeVl8kPhIMC\
        6k1Nc5ff/QQw5rMT+fsjYgKl1ovVuMifo1kQoykuvW3FZKGj7O1ySUF7Ue5VqxxIVQlwqfP7HdohHwU62KRIB40a5LZ7wSGH/enp9XPs\
        aFV+OgixLcVxd3/oM0JDXMKUy2KzeuQAmu40q2aGzpLB0fa1ZHBLwe+qY9nqO/PjSr9J8bmTeZlcTzGN8tu2+uwVjrOsg+xx/ZO/3J4/\
        Gq/qLjbk/9eX8/8ciwUjzLr96RAMdSygn41+BVWgmIFTI7lQFiBuwy6xFZDCavK4rOJ1EjOpcHPgi6ookP4wDI0CgYEA+UibqLNEGidt\
        UnlBV19tNkOyD7/mvVgbwtDv0soCxyNNWsrZPFFlCnUndSRnQUU5BsN/NdR60EOXu4utm85rwJQ0SizcQf8EAHtBWayGmTM79a+bvtbH\
        b+g42AUo41klzG4kraO7iR+RnzO0RhJ0J4ZuxCyyIFAA5kbWHo+SJFUCgYEAvQiJUW7YANmZbj8ojR2tApnSu7F/d7ehqr6UfK0vS6TD\
        bCWlh179bvyC9eqgcJizAuRz+DiC4RMYv5p8wxCwSZUo+8aumoK+jjKMd7idzEMiOhqGO47h7BY7zd+i71PEwvfzT/eCboCna+IcajfJ\
        gKUUT1E3pW32IqB2WRWCtpMCgYEAyuqaoqlB/1QmviKr2JZ6DNjwAbgA+BHXjy6KeXgs6LLIzeYfDOVorSmOM+GtF0lk0Sejzkqmqg7L\
        XUOmzxQpS/qX0eVQaXxPYqDyIi+45M36udP3oFGuyF4sn1Mb5Gx1w0HJI3sLNeR3ojLxRLTSzjW0xoVnfbwB73Cr7PaLTH0CgYBlvNpr\
        AYUvr+1r8IIasQYUiEVqzzUTcbmI89lm4K67v4mOAxT7rpwnx6+UOxrufsCZperkhUWrbWO8e6D6O1klwSm1mFEQx51XWs1PAgWrkdYx\
        /2SPWW8uaSj2vI4s0KDtbhV9zHBemM+CuMciQ7QnkLFFnyib2HrIWCRZ/cHEEQKBgFQ4lgXqjKdBZnNaRHcLqZRzAKi+VGhmLBnTHX5s\
        r0wD+HBK8OtroXRUVoHXcTUgi17Mhp1we945SlFkJliF+l+yaworTfGRBVEHrSxYrj4l+rpCag0hvcRFjsvw9EsER3MLumNRFnTwfXcl\
        u+bZENVjWYQeoyZhz+84kwB7Jj/0
        """
}
