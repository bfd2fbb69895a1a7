r"""The built-in rules: keys whose issuers gave them a form of their own, and then what is assigned to a telling name.

Each is tried at its anchors alone and takes time in proportion to the text: nothing has to follow a run of characters
without a limit, unless a run cannot begin inside another. What stands before a key may be an escaped line end, since
JSON is often held as a string in JSON.
"""

from __future__ import annotations

from ctxarc.auxiliary.secrets.rule import Rule, Rules

_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_QUOTE = r"(?:\\{0,15}[\"'`])?"
_IS = rf"{_QUOTE}\s{{0,8}}(?::=|=>|[:=])\s{{0,8}}{_QUOTE}"
_ENDS = r"(?![A-Za-z0-9])"
_TOKEN = r"[A-Za-z0-9_\-.=+/~]"  # noqa: S105 - a class of characters


def _prefixed(name: str, description: str, prefixes: str, rest: str, **more: float | bool) -> Rule:
    """A key that begins with one of ``prefixes``, and goes on as ``rest``."""
    return Rule(
        name,
        description,
        _EDGE + "(?:" + "|".join(each.replace(".", r"\.") for each in prefixes.split()) + ")" + rest,
        keywords=tuple(each.lower() for each in prefixes.split()),
        group=0,
        entropy=float(more.get("entropy", 3.0)),
        anchors=tuple(prefixes.split()),
        mixed=bool(more.get("mixed", False)),
    )


def _written(word: str) -> tuple[str, ...]:
    """A word in the ways in which names have it: ``token``, ``Token``, ``TOKEN``."""
    return word, word.capitalize(), word.upper()


def _assigned(name: str, description: str, words: str, value: str, **more: float | bool) -> Rule:
    """A value that is assigned to a name in which one of ``words`` stands."""
    anchors = tuple(dict.fromkeys(way for word in words.split() for way in _written(word)))
    return Rule(
        name,
        description,
        "(?:" + "|".join(anchors) + rf")[\w.\-]{{0,24}}?{_IS}{value}",
        keywords=tuple(dict.fromkeys(word.lower() for word in words.split())),
        group=None,
        entropy=float(more.get("entropy", 0.0)),
        anchors=anchors,
        mixed=bool(more.get("mixed", False)),
    )


_BASE64_RUN = r"(?=(?:[^-]|-(?!----)){0,400}?[A-Za-z0-9+/]{40})"
_KEY_BLOCK = (
    rf"-----BEGIN[ A-Z0-9]{{0,40}}PRIVATE KEY[ A-Z]{{0,10}}-----{_BASE64_RUN}"
    r"(?:(?:[^-]|-(?!----)){40,20000}-----END[ A-Z0-9]{0,60}-----|[A-Za-z0-9+/=\s\\\"',:;.()]{40,})"
)

_PREFIXED = (
    _prefixed("anthropic-api-key", "API key of Anthropic", "sk-ant-", r"[A-Za-z0-9_-]{20,}"),
    _prefixed(
        "openai-api-key", "API key of OpenAI, or in its form", "sk-proj- sk-svcacct- sk-admin-", r"[A-Za-z0-9_-]{20,}"
    ),
    _prefixed("openai-api-key", "API key of OpenAI, or in its form", "sk-", r"[A-Za-z0-9_-]{20,}", mixed=True),
    _prefixed("github-token", "token of GitHub", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{30,}"),
    _prefixed("github-fine-grained-token", "fine-grained token of GitHub", "github_pat_", r"[A-Za-z0-9_]{30,}"),
    _prefixed(
        "gitlab-token",
        "token of GitLab",
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glft- glimt- glagent-",
        r"[A-Za-z0-9_.-]{20,}",
    ),
    _prefixed(
        "aws-access-key-id", "access key id of AWS", "AKIA ASIA ABIA ACCA", rf"[A-Z2-7]{{16}}{_ENDS}", entropy=2.5
    ),
    _prefixed(
        "slack-token", "token of Slack", "xoxb- xoxp- xoxa- xoxo- xoxs- xoxr- xoxe- xoxc- xoxd-", rf"{_TOKEN}{{20,}}"
    ),
    _prefixed("slack-app-token", "app token of Slack", "xapp-", r"[A-Za-z0-9-]{20,}"),
    _prefixed(
        "slack-webhook", "webhook of Slack", "hooks.slack.com/", r"(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{30,}"
    ),
    _prefixed("google-api-key", "API key of Google", "AIza", r"[A-Za-z0-9_-]{35,}"),
    _prefixed("google-oauth-secret", "client secret of Google", "GOCSPX-", r"[A-Za-z0-9_-]{20,}"),
    _prefixed("google-oauth-token", "access token of Google", "ya29.", r"[A-Za-z0-9_.-]{30,}"),
    _prefixed("stripe-key", "key of Stripe", "sk_live_ sk_test_ rk_live_ rk_test_", r"[A-Za-z0-9]{16,}"),
    _prefixed("stripe-webhook-secret", "webhook secret of Stripe", "whsec_", r"[A-Za-z0-9+/=]{24,}"),
    _prefixed("npm-token", "access token of npm", "npm_", r"[A-Za-z0-9]{36,}"),
    _prefixed("pypi-token", "upload token of PyPI", "pypi-", r"[A-Za-z0-9_-]{50,}"),
    _prefixed("sendgrid-api-key", "API key of SendGrid", "SG.", r"[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{32,}"),
    _prefixed("twilio-api-key", "API key of Twilio", "SK", rf"[0-9a-f]{{32}}{_ENDS}"),
    _prefixed("huggingface-token", "access token of Hugging Face", "hf_ api_org_", r"[A-Za-z0-9]{30,}"),
    _prefixed("digitalocean-token", "token of DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{40,}"),
    _prefixed("groq-api-key", "API key of Groq", "gsk_", r"[A-Za-z0-9]{40,}"),
    _prefixed("xai-api-key", "API key of xAI", "xai-", r"[A-Za-z0-9_]{60,}"),
    _prefixed("shopify-token", "token of Shopify", "shpat_ shpca_ shppa_ shpss_", r"[A-Fa-f0-9]{32,}"),
    _prefixed("vault-token", "token of HashiCorp Vault", "hvs. hvb.", r"[A-Za-z0-9_-]{24,}"),
    _prefixed("age-secret-key", "secret key of age", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}"),
)

_OTHERS = (
    Rule(
        "telegram-bot-token",
        "token of a bot of Telegram",
        r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=bot))[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}",
        keywords=(":aa",),
        group=0,
        entropy=3.0,
        anchors=(":AA",),
        back=10,
    ),
    Rule(
        "azure-client-secret",
        "client secret of Microsoft Entra",
        rf"{_EDGE}[A-Za-z0-9_~.\-]{{3}}[0-9]Q~[A-Za-z0-9_~.\-]{{31,}}",
        keywords=("q~",),
        group=0,
        entropy=3.0,
        anchors=("Q~",),
        back=4,
    ),
    Rule(
        "azure-storage-key",
        "account key of Azure Storage",
        r"AccountKey=([A-Za-z0-9+/]{80,}={0,2})",
        keywords=("accountkey=",),
        entropy=3.0,
        anchors=("AccountKey=",),
    ),
    Rule(
        "azure-shared-access-key",
        "shared access key of Azure",
        r"SharedAccessKey=([A-Za-z0-9+/]{40,}={0,2})",
        keywords=("sharedaccesskey=",),
        entropy=3.0,
        anchors=("SharedAccessKey=",),
    ),
    Rule(
        "azure-sas-signature",
        "signature of a shared access link of Azure",
        r"(?<=[?&;])sig=([A-Za-z0-9%+/]{40,}(?:%3[Dd]|=))",
        keywords=("sig=",),
        entropy=3.0,
        anchors=("sig=",),
    ),
    Rule(
        "json-web-token",
        "JSON web token",
        r"(?:(?<![A-Za-z0-9_\-])|(?<=\\[nrt]))eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}",
        keywords=("eyj",),
        group=0,
        entropy=3.0,
        anchors=("eyJ",),
    ),
    Rule(
        "private-key",
        "private key",
        _KEY_BLOCK,
        keywords=("-----begin",),
        group=0,
        anchors=("-----BEGIN",),
    ),
    Rule(
        "authorization-header",
        "credentials in a header",
        rf"(?:Authorization|authorization|AUTHORIZATION){_IS}"
        rf"(?:[Bb]earer|BEARER|[Bb]asic|BASIC|[Tt]oken|[Aa]pi[Kk]ey)\s{{1,4}}({_TOKEN}{{8,}})",
        keywords=("authorization",),
        entropy=2.5,
        anchors=_written("authorization"),
    ),
    Rule(
        "bearer-token",
        "bearer token",
        rf"(?:Bearer|bearer|BEARER)\s{{1,4}}({_TOKEN}{{20,}})",
        keywords=("bearer",),
        entropy=3.2,
        anchors=_written("bearer"),
        mixed=True,
    ),
    Rule(
        "url-password",
        "password in a URL",
        r"://[^\s/?#@:\"'`<>\\(){}\[\]|,;$%&*]{0,128}:([^\s/?#@\"'`<>\\{}]{3,256})@[A-Za-z0-9\[]",
        keywords=("://",),
        entropy=1.5,
        anchors=("://",),
    ),
    Rule(
        "aws-secret-access-key",
        "secret access key of AWS",
        rf"(?:secret|Secret|SECRET)[_\-]?(?:access|Access|ACCESS)?[_\-]?(?:key|Key|KEY){_IS}"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        keywords=("secret",),
        entropy=3.5,
        anchors=_written("secret"),
        mixed=True,
    ),
)

_NAMES = (
    "token secret api_key api-key apikey apiKey ApiKey access_key accesskey accessKey AccessKey private_key privateKey "
    "auth_key authKey credential"
)
_ASSIGNED = (
    _assigned(
        "generic-api-key",
        "a key, token or secret that is assigned",
        _NAMES,
        rf"({_TOKEN}{{16,}})(?![\w(\[])",
        entropy=3.5,
        mixed=True,
    ),
    _assigned(
        "generic-password",
        "a password that is assigned",
        "password passwd passphrase pwd",
        r"(?:(?<=[\"'`])((?![$/~.(<{%])[^\s\"'`\\]{6,128})(?=\\{0,15}[\"'`])"
        r"|(?<![\"'`])((?![$/~.(<{%])[^\s\"'`\\,;&<>(){}\[\]|$]{8,128})(?![(\[{.$]))",
        entropy=2.5,
        mixed=True,
    ),
)

DEFAULT_RULES = Rules((*_PREFIXED, *_OTHERS, *_ASSIGNED))
"""The rules that count where no file names others."""
