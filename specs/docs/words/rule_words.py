"""The words by which a sentence is known to state a rule, and those of sentences about sign-in and access."""

import re

RULE = re.compile(
    r"\b(?:must(?:n't)?|(?<!-)only|never|cannot|can(?:no|')t|can not|may not|shall|should|always|unless|except|exactly"
    r"|not (?:be )?(?:allowed|permitted|possible|accepted|changed|deleted)|prohibited|forbidden|requires?|required"
    r"|our (?:\w+ )?polic(?:y|ies)|polic(?:y|ies)(?= is| are|:)|ensure|make sure|before (?:you|any|an?|the|\w+ing)\b"
    r"|irreversibl[ey]|at (?:most|least)|no more than|not more than|fewer than|up to \d|maximum|minimum|limit(?:s|ed)?"
    r"|within \d+|(?:\d+|one|two|three|a) (?:\w+ )?(?:per|times)"
    # German, French, Spanish, Italian, Portuguese, Dutch
    r"|muss|müssen|nur|nie(?:mals)?|darf|dürfen|verboten|unzulässig|höchstens|mindestens|innerhalb"
    r"|doit|doivent|jamais|uniquement|seulement|interdite?s?|obligatoires?|au (?:plus|moins)"
    r"|debe[ns]?|nunca|sólo|solo|solamente|prohibid[oa]s?|obligatori[oa]s?|como máximo|no se puede[ns]?"
    r"|dev(?:e|ono|em)|soltanto|vietat[oi]|entro \d+|apenas|somente|proibid[oa]s?|obrigatóri[oa]s?"
    r"|moet(?:en)?|nooit|alleen|verplicht|mag niet|mogen niet)\b"
    r"|(?:^|[.!?:;,-] |please |and |you |users? |customers? |clients? )(?:do not|don't)\b"
    r"|\bне более\b|\bне менее\b|должн|только|нельзя|никогда|запрещ"
    r"|必须|必須|只能|禁止|不得|不能|不允许|最多|必ず|のみ|できません|までに|반드시|금지|할 수 없",
    re.IGNORECASE,
)
TOLD = re.compile(
    r"\b(?:means?|defaults?|formats?|one of|instead|otherwise|ignored?|wildcards?|regular expressions?"
    r"|case.(?:in)?sensitive|all of|any of|either|if|when|omit(?:s|ted)?|leave (?:\w+ )?(?:empty|out|blank)"
    r"|sorted|order(?:ed)? by|pagina\w+|pages?|cursors?|offset|deprecated|asynchronous(?:ly)?|polls?|overwrit\w+"
    r"|replaces?|etag|if-match)\b"
    r"|\bpass\b|(?<!\S)[`'\"]?[~*%@$][`'\"]?(?!\S)",
    re.IGNORECASE,
)
"""Words by which the description of one operation or parameter tells its callers how to use it, besides `RULE`."""

SIGN_IN = re.compile(
    r"\b(?:api.?keys?|bearer|(?:access|refresh|personal|auth\w*|app|your) tokens?|oauth\S*|basic auth\w*|sign up"
    r"|authorization header|client.secret|pip install|npm install|sdks?|postman|swagger)\b",
    re.IGNORECASE,
)

ACCESS = re.compile(
    r"\b(?:(?:admin\w*|owner|write|read|push|pull|required?|sufficient) (?:access|roles?)|permissions?"
    r"|privileges?|oauth|scopes?|authenticated user|must be (?:an? )?(?:\w+ ){0,2}(?:admin\w*|owner|member|manager)"
    r"|(?:owners?|admin(?:istrator)?s?|members|maintainers?|managers?) (?:can|may|of)|for more information"
    r"|sign(?:ed)?.in)\b",
    re.IGNORECASE,
)
"""Words of sentences about who may call an operation, and of references to other pages."""
