// Texts that change the meaning of a statement, a header, a page, a path or a log line, if they are put into
// one without being encoded.

/** Part of every payload, to recognize it. */
export const marker = 'zq7x'

/** The name of an element that only a payload can bring into a page. */
export const injectedElement = 'injected-zq7x'

/** The result of the templates: it is in an answer only when one was evaluated. */
export const evaluated = String(81_237 * 7_919)

export const payloads: Record<string, string> = {
  'SQL quotes': `${marker}' OR '1'='1`,
  'an SQL statement': `${marker}'); SELECT pg_sleep(30); --`,
  'an escaped quote': `${marker}\\' OR 1=1 /*`,
  'dollar quotes': `${marker}$$; SELECT pg_sleep(30); $$`,
  'a LIKE pattern': `%${marker}_%`,
  'only a wildcard': '%',
  'a glob': '*',
  'a JSON path': `$.${marker} ? (@.id like_regex ".*")`,
  'a query object': `{"$ne":null,"${marker}":{"$gt":""}}`,
  'a text search': `${marker} & ! | <-> ( :* '`,
  'a regular expression': `^(${marker}|a|a)*[`,
  'slow for a regular expression': `${marker}${'a'.repeat(1_000)}${' '.repeat(1_000)}!`,
  'a header': `${marker}\r\nX-Injected: ${marker}\r\nSet-Cookie: a=${marker}\r\n\r\n<${injectedElement}>`,
  'a path': `../../../../../../etc/passwd?${marker}`,
  'an encoded path': `..%2f..%2f..%2fetc%2fpasswd%00${marker}`,
  'a template': `${marker}{{81237*7919}}\${81237*7919}<%= 81237*7919 %>#{81237*7919}`,
  'a prototype': '__proto__',
  'a constructor': 'constructor',
  NUL: `${marker}\0`,
  'a lone surrogate': `${marker}\ud800`,
  'a long text': marker.repeat(2_000),
  'directions and invisible characters': `${marker}\u202etxt.exe\u2066\u200b\u2060\ufeff`,
  'an internal URL': `http://169.254.169.254/latest/meta-data/${marker}`,
  'a file URL': `file:///etc/passwd?${marker}`,
  'a script URL': `javascript:alert("${marker}")//`,
  HTML: `"'></title></script><${injectedElement} onload=alert(1) a="--><svg/onload=alert('${marker}')>`,
  'a formula': `=HYPERLINK("http://${marker}.example","x")`,
  'a log line': `${marker}\n{"level":60,"msg":"${marker}"}\n`,
  'a shell command': `\`touch /tmp/${marker}\`; $(touch /tmp/${marker}) | touch /tmp/${marker}`,
  'format directives': `%s%n%x%d ${marker}`,
}
