/**
 * The script of `/docs`: renders the OpenAPI document of the server, with a form to try every route.
 *
 * The service serves this file itself, inlined into the page with its types stripped, so that the docs
 * work where nothing was built. It therefore imports nothing. Text of the document is only ever set as
 * text. The key of the explorer is put into its input field; what is typed there is not stored.
 */

type Schema = {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
}

type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly description: string
  readonly schema: Schema
  readonly example?: string | number | boolean
}

type Reference = { readonly $ref?: string }

type Operation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly security?: readonly unknown[]
  readonly parameters: readonly (Parameter | Reference)[]
  readonly responses: {
    readonly '200': {
      readonly content?: Readonly<
        Record<string, { readonly schema?: unknown; readonly example?: { readonly data: unknown } }>
      >
    }
  }
}

type OpenApi = {
  readonly info: { readonly description: string }
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>
}

type Field = { readonly param: Parameter; readonly input: HTMLInputElement | HTMLSelectElement }

// Max characters of an answer that are shown.
const MAX_SHOWN = 20_000

showTheme()
void showDocs()

async function showDocs(): Promise<void> {
  await showKey()
  if (document.getElementById('routes') === null) return
  const response = await fetch('/v3/openapi.json')
  const api = (await response.json()) as OpenApi
  const routes = byId('routes')
  const nav = byId('nav')
  addProse(api.info.description, byId('about'))
  routes.replaceChildren()
  for (const { name } of api.tags) {
    const id = `tag-${name.toLowerCase().replaceAll(/\W+/g, '-')}`
    const group = element('section', undefined, { id, className: 'group' })
    group.append(element('h2', name))
    nav.append(element('b', name))
    for (const [path, { get }] of Object.entries(api.paths)) {
      if (get.tags[0] !== name) continue
      nav.append(element('a', get.summary, { href: `#${get.operationId}`, title: path }))
      group.append(toSection(api, path, get))
    }
    routes.append(group)
  }
  // The address may name a part that was not there when the page was loaded.
  if (location.hash !== '') document.getElementById(location.hash.slice(1))?.scrollIntoView()
}

/** Puts the explorer's key in place, or the one that the start of the service printed on this machine. */
async function showKey(): Promise<void> {
  const key = kept('priorbook.key') ?? (await askForStartKey())
  if (key === undefined) return
  const who = document.getElementById('who')
  if (who !== null) who.textContent = 'Key set'
  const input = document.getElementById('key') as HTMLInputElement | null
  if (input === null) return
  input.value = key
  ;(byId('demo') as HTMLInputElement).checked = false
}

async function askForStartKey(): Promise<string | undefined> {
  // Who removed that key does not want it back.
  const isOwn = /^(localhost|\[::1\]|127\..*)$/.test(location.hostname)
  if (!isOwn || kept('priorbook.start-key') !== undefined) return undefined
  const headers = { 'X-Priorbook-Origin': location.origin }
  const response = await fetch('/start-key', { headers, cache: 'no-store' })
  if (response.status !== 200) return undefined
  return ((await response.json()) as { readonly key?: string }).key
}

/** Follows the colours that were chosen in the explorer, and changes them as its button does. */
function showTheme(): void {
  const button = byId('theme') as HTMLButtonElement
  const next = { auto: 'light', light: 'dark', dark: 'auto' } as const
  const signs = { auto: '◐', light: '☼', dark: '☾' } as const
  const found = kept('priorbook.theme')
  let theme: keyof typeof next = found === 'light' || found === 'dark' ? found : 'auto'
  const apply = (): void => {
    const { dataset } = document.documentElement
    if (theme === 'auto') delete dataset['theme']
    else dataset['theme'] = theme
    button.textContent = signs[theme]
    button.title = `Colours: ${theme}`
    button.setAttribute('aria-label', `Colours: ${theme}. Change`)
  }
  button.hidden = false
  button.addEventListener('click', () => {
    theme = next[theme]
    keep('priorbook.theme', theme)
    apply()
  })
  apply()
}

function kept(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined
  } catch {
    return undefined
  }
}

function keep(name: string, text: string): void {
  try {
    localStorage.setItem(name, text)
  } catch {
    // Without storage the choice lasts until the page is left.
  }
}

function toSection(api: OpenApi, path: string, operation: Operation): HTMLElement {
  const section = element('section', undefined, { id: operation.operationId })
  section.append(
    element('h3', operation.summary),
    element('p', `GET ${path}`, { className: 'path' }),
  )
  addProse(operation.description, section)
  const { content = {} } = operation.responses['200']
  const types = Object.keys(content).join(', ')
  section.append(element('p', `Answers ${types}`, { className: 'soft' }))
  const form = toDetails('Parameters and try it')
  form.addEventListener('toggle', () => form.append(toForm(api, path, operation)), { once: true })
  section.append(form)
  const { example, schema } = content['application/json'] ?? {}
  if (example !== undefined) {
    section.append(toDetails('Example of data', JSON.stringify(example.data, null, 2)))
  }
  if (schema !== undefined) section.append(toDetails('Schema', schemaText(api, schema)))
  return section
}

function toForm(api: OpenApi, path: string, operation: Operation): HTMLElement {
  const box = element('div')
  const table = element('table')
  const fields = operation.parameters.map((part) => {
    const found = follow(api, part) as Parameter
    const param = { ...found, schema: follow(api, found.schema) as Schema }
    const field = { param, input: toInput(param) }
    table.append(toRow(field))
    return field
  })
  if (fields.length > 0) box.append(table)
  const button = element('button', 'Send')
  const out = element('div')
  box.append(element('p'), button, out)
  button.addEventListener('click', () => void send(path, operation, fields, out))
  return box
}

function toRow({ param, input }: Field): HTMLElement {
  const row = element('tr')
  const name = element('td')
  name.append(element('code', param.name), param.required ? ' *' : '')
  const about = element('td', param.description)
  about.append(element('br'), element('span', typeText(param.schema), { className: 'soft' }))
  const cell = element('td')
  cell.append(input)
  row.append(name, about, cell)
  return row
}

function toInput({ name, schema, example }: Parameter): Field['input'] {
  const words = schema.type === 'boolean' ? ['true', 'false'] : schema.enum
  const placeholder = example === undefined ? '' : String(example)
  const input =
    words === undefined ? element('input', undefined, { placeholder }) : element('select')
  for (const word of words === undefined ? [] : ['', ...words])
    input.append(element('option', word))
  input.setAttribute('aria-label', name)
  return input
}

async function send(
  path: string,
  operation: Operation,
  fields: readonly Field[],
  out: HTMLElement,
): Promise<void> {
  const key = (byId('key') as HTMLInputElement).value.trim()
  const { address, isKeyed } = toRequest(path, operation, fields, key)
  const header = isKeyed ? " -H 'Authorization: Bearer $KEY'" : ''
  const url = `${location.origin}${address}`
  out.replaceChildren(
    element('pre', `curl '${url}'${header}`),
    toDetails('Python', toPython(url, isKeyed)),
  )
  try {
    const started = performance.now()
    const headers = isKeyed ? { Authorization: `Bearer ${key}` } : undefined
    const response = await fetch(address, headers === undefined ? {} : { headers })
    const text = await response.text()
    const ms = Math.round(performance.now() - started)
    const limit = response.headers.get('RateLimit')
    const facts = [`${response.status}`, `${ms} ms`, `${text.length} characters`]
    facts.push(response.headers.get('X-Request-Id') ?? '', ...(limit === null ? [] : [limit]))
    out.append(element('p', facts.join(' · '), { className: 'soft' }))
    const shown = prettyJson(text)
    const isLong = shown.length > MAX_SHOWN
    out.append(element('pre', isLong ? `${shown.slice(0, MAX_SHOWN)}\n…` : shown))
  } catch (error) {
    out.append(element('pre', String(error)))
  }
}

/** The address that the fields make, and whether the key goes with it. */
function toRequest(
  path: string,
  operation: Operation,
  fields: readonly Field[],
  key: string,
): { readonly address: string; readonly isKeyed: boolean } {
  let address = path
  const query: string[] = []
  for (const { param, input } of fields) {
    const example = param.required && param.example !== undefined ? String(param.example) : ''
    const value = encodeURIComponent(input.value === '' ? example : input.value)
    if (param.in === 'path') address = address.replace(`{${param.name}}`, value)
    else if (value !== '') query.push(`${param.name}=${value}`)
  }
  const isKeyless = operation.security?.length === 0
  const isAccount = ['Account', 'Service'].includes(operation.tags[0] ?? '')
  const isDemo = (byId('demo') as HTMLInputElement).checked && !isKeyless && !isAccount
  if (isDemo) address = address.replace('/v3/', '/v3/demo/')
  if (query.length > 0) address += `?${query.join('&')}`
  return { address, isKeyed: key !== '' && !isKeyless && !isDemo }
}

/** A complete Python program, as the panels of the explorer have it; a test compares them and runs it. */
function toPython(url: string, isKeyed: boolean): string {
  const headers = `, headers={"Authorization": f"Bearer {os.environ['PRIORBOOK_KEY']}"}`
  return `${isKeyed ? 'import os\n\n' : ''}import httpx

answer = httpx.get(${JSON.stringify(url)}${isKeyed ? headers : ''})
answer.raise_for_status()
print(answer.text)
`
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function typeText({ enum: words, type = '', minimum, maximum }: Schema): string {
  if (words !== undefined) return words.join(' | ')
  return type === 'integer' && minimum !== undefined ? `${minimum} – ${maximum}` : type
}

/** Follows a reference into the components of the document. */
function follow(api: OpenApi, part: object): object {
  const { $ref } = part as Reference
  if ($ref === undefined) return part
  const names = $ref.slice(2).split('/')
  return names.reduce<object>((at, name) => (at as Record<string, object>)[name]!, api)
}

/** A schema and every named schema that it uses. */
function schemaText(api: OpenApi, schema: unknown): string {
  const used = new Map<string, object>()
  const collect = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    const { $ref } = part as Reference
    if ($ref !== undefined && !used.has($ref)) {
      const target = follow(api, part)
      used.set($ref, target)
      collect(target)
    }
    for (const value of Object.values(part)) collect(value)
  }
  collect(schema)
  const texts = [...used].map(
    ([ref, one]) => `${ref.split('/').at(-1)} ${JSON.stringify(one, null, 2)}`,
  )
  return texts.join('\n\n')
}

function toDetails(title: string, text?: string): HTMLDetailsElement {
  const details = element('details')
  details.append(element('summary', title))
  if (text !== undefined) details.append(element('pre', text))
  return details
}

/** Adds paragraphs; words between backticks become code. */
function addProse(text: string, into: HTMLElement): void {
  for (const part of text.split('\n\n')) {
    const paragraph = element('p')
    for (const [index, piece] of part.split('`').entries()) {
      paragraph.append(index % 2 === 1 ? element('code', piece) : piece)
    }
    into.append(paragraph)
  }
}

function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  text?: string,
  properties: Partial<HTMLElementTagNameMap[Tag]> = {},
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag)
  if (text !== undefined) node.textContent = text
  return Object.assign(node, properties)
}

function byId(id: string): HTMLElement {
  return document.getElementById(id)!
}
