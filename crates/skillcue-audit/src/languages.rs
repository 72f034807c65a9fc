//! Sentences that take a model over, in other languages than English.
//!
//! Only the letters of ASCII match in any case: words that begin with another letter are written without it.

use super::Rule;
use super::patterns::{PatternHit, is_match, patterns, regexes};
use super::prose::injection;
use super::rules::{COMMENT_INJECTION, CREDENTIAL_THEFT, PROMPT_INJECTION};
use super::unsafe_commands::is_strong;

patterns! {
    PROMPT_INJECTION, injection, "the model is told to drop its instructions",
        ["ignorier", "vergiss", "missacht", "ignore", "oubli", "olvid", "omite", "ignora", "esque", "гнорируй",
         "абудь", "忽略", "无视", "忽視", "無視", "忘", "무시", "잊"],
        concat!(
            r"\b(?:ignorier\w*|vergiss|vergessen\s+sie|missacht\w*)\s+(?:[^\s.!?;]+\s+){0,3}?(?:vorherig|bisherig|fr(?:ü|ue)her|obig|vorangegangen|vorig)\w*\s+(?:[^\s.!?;]+\s+){0,2}?(?:anweisung|instruktion|regel|vorgabe|befehl)",
            r"|\b(?:ignore[rz]?|oublie[rz]?)\s+(?:[^\s.!?;]+\s+){0,3}?(?:instructions?|consignes?|r(?:è|e)gles?|directives?)\s+(?:[^\s.!?;]+\s+)?(?:pr(?:é|e)c(?:é|e)dentes?|ant(?:é|e)rieures?)",
            r"|\b(?:ignora|ignore|olvid[ae]|omite)\s+(?:[^\s.!?;]+\s+){0,3}?(?:instrucciones|indicaciones|reglas|(?:ó|o)rdenes)\s+(?:anteriores|previas)",
            r"|\b(?:ignore|ignora|esque(?:ç|c)a)\s+(?:[^\s.!?;]+\s+){0,3}?(?:instru(?:ç|c)(?:õ|o)es|regras|ordens)\s+(?:anteriores|pr(?:é|e)vias)",
            r"|\bignora\s+(?:[^\s.!?;]+\s+){0,3}?(?:istruzioni|regole)\s+precedenti",
            r"|(?:гнорируй|абудь)(?:те)?\s+(?:[^\s.!?;]+\s+){0,3}?(?:инструкци|указани|правил|команд)",
            r"|(?:忽略|无视|忽視|無視|忘记|忘記|忘掉)[^\n]{0,40}?(?:指令|指示|说明|說明|规则|規則|提示|命令)",
            r"|(?:指示|命令|ルール|指令|プロンプト)[^\n]{0,18}?(?:無視|忘れ)",
            r"|(?:지시|명령|규칙|프롬프트)[^\n]{0,24}?(?:무시|잊)",
        );
    PROMPT_INJECTION, injection, "the model is told to keep something from the user",
        ["nutzer", "utilisateur", "usuario", "usuário", "utilizador", "пользовател", "用户", "用戶", "使用者", "ユーザ", "사용자"],
        concat!(
            r"\b(?:sag\w*|erz(?:ä|ae)hl\w*|verrat\w*|informier\w*|teil\w*)\s+(?:[^\s.!?;]+\s+){0,4}?(?:dem|den|der)\s+(?:be)?nutzer\w*\s+(?:[^\s.!?;]+\s+){0,3}?(?:nichts|nicht)\b|\bohne\s+(?:[^\s.!?;]+\s+){0,2}?(?:be)?nutzer\w*\s+(?:[^\s.!?;]+\s+){0,3}?(?:zu\s+)?(?:informieren|sagen)",
            r"|\b(?:ne|n(?:'|’))\s*(?:le\s+|la\s+|lui\s+|en\s+)?(?:dis|dites|parle[rz]?|informe[rz]?|mentionne[rz]?|r(?:é|e)v(?:è|é|e)le[rz]?|pr(?:é|e)viens|pr(?:é|e)venez)\s+(?:pas|rien|jamais)\s+(?:[^\s.!?;]+\s+){0,4}?(?:l(?:'|’)|(?:à|a)\s+l(?:'|’))?utilisateur",
            r"|\bno\s+(?:se\s+lo\s+|le\s+)?(?:digas?|informes?|menciones?|reveles?|cuentes?)\s+(?:[^\s.!?;]+\s+){0,4}?(?:al|el)\s+usuario",
            r"|\bn(?:ã|a)o\s+(?:[^\s.!?;]+\s+)?(?:digas?|informe|mencione|revele|conte)\s+(?:[^\s.!?;]+\s+){0,4}?(?:ao|o)\s+(?:usu(?:á|a)rio|utilizador)",
            r"|(?:не|Не)\s+(?:говори|сообщай|рассказывай|упоминай|показывай)(?:те)?\s+(?:[^\s.!?;]+\s+){0,3}?пользовател",
            r"|(?:不要|别|勿|別)[^\n]{0,12}?(?:告诉|告訴|通知|提及|告知)[^\n]{0,12}?(?:用户|用戶|使用者)",
            r"|ユーザー?に[^\n]{0,40}?(?:言わない|伝えない|知らせない|教えない|話さない|言うな|伝えるな)",
            r"|사용자에게[^\n]{0,40}?(?:말하지|알리지|언급하지)",
        );
    PROMPT_INJECTION, sent, "the model is told to send away what it knows",
        ["sende ", "senden", "sendet", "schick", "bermitt", "bertrage", "hochladen", " hoch", "weiterleiten",
         " weiter", "envoie", "envoye", "léverse", "leverse", "envía", "envíe", "enviar", "envie", "envia", "sube ",
         "subir", "invia", "тправ", "ередай", "ышли", "агрузи", "发送", "發送", "上传", "上傳", "传送", "发到", "发给", "送信", "送って",
         "アップロード", "転送", "전송", "보내", "업로드", "stuur", "verzend", "zend ", "ślij", "slij", "przekaż", "przekaz",
         "gönder", "gonder", "yükle", "yukle", "رسل", "رسال", "ارفع", "भेज", "अपलोड"],
        concat!(
            r"\b(?:sende[nt]?|schicke?n?|hochladen|weiterleiten)\b|(?:ü|ue)bermitt(?:le|eln)|(?:ü|ue)bertrage\w*|\blade\b[^\n]{0,100}\bhoch\b|\bleite\b[^\n]{0,100}\bweiter\b",
            r"|\benvoie[sz]?\b|\benvoye[rz]\b|\bt(?:é|e)l(?:é|e)verse[rz]?\b",
            r"|\benv(?:í|i)[ae]\b|\benv(?:í|i)en?\b|\benviar\b|\bsube\b|\bsubir\b|\benvie\b|\binvia(?:re)?\b",
            r"|тправ(?:ь|ить|ьте|ляй|ляйте)|ередай|ышли|агрузи",
            r"|\b(?:ver|door)?stuur\b|\bverzend\b|\bzend\b|\b(?:wy|prze)(?:ś|s)lij|\bprzeka(?:ż|z)\b|\bg(?:ö|o)nder|\by(?:ü|u)kle|رسل|رسال|ارفع|भेज|अपलोड",
            r"|发送|發送|上传|上傳|传送|发到|发给|送信|送って|アップロード|転送|전송|보내|업로드",
        );
}

regexes! {
    /// Names of secrets in these languages, and names that all of them share.
    OBJECTS = concat!(
        r"passw(?:ö|oe|o)rt|kennw(?:ö|o)rt|zugangsdaten|anmeldedaten|schl(?:ü|ue)ssel|geheimnis|umgebungsvariablen|gespr(?:ä|ae)ch|unterhaltung",
        r"|mots?\s+de\s+passe|identifiants|\bcl(?:é|e)s?\b|variables\s+d.{1,3}environnement|conversation|historique",
        r"|contrase(?:ñ|n)a|credencial|\bclaves?\b|secretos?\b|variables\s+de\s+entorno|conversaci(?:ó|o)n|historial",
        r"|\bsenhas?\b|credenciais|\bchaves?\b|segredos?\b|vari(?:á|a)veis\s+de\s+ambiente|\bconversa\b|hist(?:ó|o)rico|credenziali|chiav[ei]",
        r"|парол|ключ|секрет|уч(?:е|ё)тн|переменн\S+\s+окружения|переписк|разговор|диалог|истори",
        r"|密码|密碼|密钥|密鑰|凭证|凭据|憑證|令牌|环境变量|環境變數|对话|對話|聊天记录|历史记录|私钥|机密",
        r"|パスワード|秘密|鍵|認証情報|環境変数|会話|履歴|トークン|비밀번호|암호|자격 증명|환경 변수|대화|토큰",
        r"|wachtwoord|sleutels?\b|\bgeheim|inloggegevens|omgevingsvariabelen|\bgesprek|geschiedenis",
        r"|\bhas(?:ł|l)[ao]|\bhase(?:ł|l)\b|\bklucz|po(?:ś|s)wiadcze|zmienn\S+\s+(?:ś|s)rodowisk|\brozmow|\bhistori",
        r"|parola|(?:ş|s)ifre|anahtar|kimlik\s+bilgi|ortam\s+de(?:ğ|g)i(?:ş|s)ken|konu(?:ş|s)ma|sohbet|ge(?:ç|c)mi(?:ş|s)in",
        r"|كلم(?:ة|ات)\s+(?:ال)?(?:مرور|سر)|مفاتيح|مفتاح|بيانات\s+الاعتماد|محادث|متغيرات\s+البيئة|أسرار|الرموز",
        r"|पासवर्ड|कुंजी|क्रेडेंशियल|बातचीत|वार्तालाप|इतिहास|गोपनीय|टोकन|पर्यावरण\s+चर",
        r"|\.env\b|\.ssh\b|\bapi[ _-]?keys?\b|\bid_rsa\b|\.aws\b|\bsecrets?\b|\btokens?\b",
    );
    ELSEWHERE = r"https?://|\b[\w.-]+@[\w-]+\.\w";
}

/// Maximum number of bytes of a line that are searched on either side of a word for sending.
const MAX_CONTEXT: usize = 1024;

/// Judges a word for sending, which is a finding only with a secret and an address.
fn sent(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    if !hit.affords(1) {
        return None;
    }
    let (before, after) = (hit.line_before(), hit.line_after());
    let line = [&before[before.len().saturating_sub(MAX_CONTEXT)..], &after[..after.len().min(MAX_CONTEXT)]].concat();
    if !hit.affords(line.len() * 2) {
        return None;
    }
    let strong = is_strong(&line);
    if !is_match(&OBJECTS, &line) || !strong && !is_match(&ELSEWHERE, &line) || is_english(&line) {
        return None;
    }
    Some(match (hit.comment && !hit.fenced, strong) {
        (true, _) => &COMMENT_INJECTION,
        (false, true) => &CREDENTIAL_THEFT,
        (false, false) => hit.rule,
    })
}

/// Returns whether a line is English, for which there are better rules.
fn is_english(line: &[u8]) -> bool {
    regexes!(WORDS = r"\b(?:the|and|with|your|this|that|from|is|are|for|of)\b");
    WORDS.as_ref().is_some_and(|words| words.find_iter(line).take(2).count() >= 2)
}
