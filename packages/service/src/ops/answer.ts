/** What the operators' port answers to a request. */
export type OpsAnswer = {
  readonly status: number
  readonly type: string
  readonly body: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** True for pages that may send forms to this port. */
  readonly hasForms?: boolean
}

/** A page. */
export function asHtml(body: string, status = 200): OpsAnswer {
  return { status, type: 'text/html; charset=utf-8', body }
}

/** A sentence in place of a page. */
export function asText(status: number, sentence: string): OpsAnswer {
  return { status, type: 'text/plain; charset=utf-8', body: `${sentence}\n` }
}

/** A refusal of a method. */
export function onlyBy(allowed: string): OpsAnswer {
  return { ...asText(405, `only ${allowed}`), headers: { allow: allowed } }
}
