/**
 * The script of `/docs`: renders the OpenAPI document of the server: every method of every route, with a form to try it.
 *
 * The service serves this file itself, inlined into the page with its types stripped, so that the docs
 * work where nothing was built. It therefore imports nothing. Text of the document is only ever set as
 * text. The key of the explorer is put into its input field; what is typed there is not stored.
 */

type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
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

type Content<Example> = Readonly<
  Record<string, { readonly schema?: Schema; readonly example?: Example }>
>

type Operation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly security?: readonly unknown[]
  /** False where the route is not below `/v3/demo`. */
  readonly 'x-demo'?: boolean
  readonly parameters: readonly (Parameter | Reference)[]
  readonly requestBody?: { readonly content: Content<unknown> }
  readonly responses: { readonly '200': { readonly content?: Content<{ readonly data: unknown }> } }
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

type Method = (typeof METHODS)[number]

type OpenApi = {
  readonly info: { readonly description: string }
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<Method, Operation>>>>>
}

/** One method of one address. */
type Route = { readonly path: string; readonly method: Method; readonly operation: Operation }

type Field = { readonly param: Parameter; readonly input: HTMLInputElement | HTMLSelectElement }

type Form = {
  readonly fields: readonly Field[]
  /** Where the body is written; undefined for a route without one. */
  readonly body: HTMLTextAreaElement | undefined
}

/** A request as it is sent and shown. */
type ApiRequest = {
  readonly method: string
  readonly address: string
  readonly isKeyed: boolean
  readonly body: string | undefined
}

const JSON_TYPE = 'application/json'
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
    for (const route of routesOf(api)) {
      if (route.operation.tags[0] !== name) continue
      nav.append(toLink(route))
      group.append(toSection(api, route))
    }
    routes.append(group)
  }
  // The address may name a part that was not there when the page was loaded.
  if (location.hash !== '') document.getElementById(location.hash.slice(1))?.scrollIntoView()
}

function routesOf({ paths }: OpenApi): Route[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    METHODS.flatMap((method) => {
      const operation = operations[method]
      return operation === undefined ? [] : [{ path, method, operation }]
    }),
  )
}

function toLink({ path, method, operation }: Route): HTMLElement {
  const link = element('a', operation.summary, {
    href: `#${operation.operationId}`,
    title: `${method.toUpperCase()} ${path}`,
  })
  if (method !== 'get') link.append(' ', element('small', method.toUpperCase()))
  return link
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

function toSection(api: OpenApi, route: Route): HTMLElement {
  const { path, method, operation } = route
  const section = element('section', undefined, { id: operation.operationId })
  const title = element('p', undefined, { className: 'path' })
  title.append(element('span', method.toUpperCase(), { className: `method ${method}` }), ` ${path}`)
  section.append(element('h3', operation.summary), title)
  addProse(operation.description, section)
  const { content = {} } = operation.responses['200']
  const types = Object.keys(content).join(', ')
  section.append(element('p', `Answers ${types}`, { className: 'soft' }))
  const form = toDetails('Parameters and try it')
  form.addEventListener('toggle', () => form.append(toForm(api, route)), { once: true })
  section.append(form)
  const body = operation.requestBody?.content[JSON_TYPE]
  if (body?.schema !== undefined) {
    const members = toDetails('Members of the body')
    members.append(toMembers(api, body.schema))
    section.append(members, toDetails('Schema of the body', schemaText(api, body.schema)))
  }
  section.append(toDetails('Example request', toShellCommand(exampleOf(api, route))))
  const { example, schema } = content[JSON_TYPE] ?? {}
  if (example !== undefined) {
    section.append(toDetails('Example of data', JSON.stringify(example.data, null, 2)))
  }
  if (schema !== undefined) section.append(toDetails('Schema', schemaText(api, schema)))
  return section
}

/** What may be written into a body, as the table of parameters has it. */
function toMembers(api: OpenApi, schema: Schema): HTMLElement {
  const { properties = {}, required = [] } = follow(api, schema) as Schema
  const table = element('table')
  for (const [name, member] of Object.entries(properties)) {
    const found = follow(api, member) as Schema
    const about = member.description ?? found.description ?? ''
    table.append(toTableRow(name, required.includes(name), about, found))
  }
  return table
}

function toForm(api: OpenApi, route: Route): HTMLElement {
  const { method, operation } = route
  const box = element('div')
  const table = element('table')
  const fields = parametersOf(api, operation).map((param) => {
    const field = { param, input: toInput(param) }
    table.append(toRow(field))
    return field
  })
  if (fields.length > 0) box.append(table)
  const body = toBodyInput(operation)
  if (body !== undefined) {
    const label = element('label', 'Body, as JSON', { className: 'body' })
    label.append(body)
    box.append(label)
  }
  if (operation['x-demo'] === false && !isKeyless(operation)) {
    box.append(element('p', 'Needs a key: there is no demonstration of it.', { className: 'soft' }))
  }
  const isDelete = method === 'delete'
  const button = element('button', isDelete ? 'Send DELETE…' : 'Send', {
    className: isDelete ? 'danger' : '',
  })
  const out = element('div')
  box.append(element('p'), button, out)
  button.addEventListener('click', () => void submit(route, { fields, body }, out))
  return box
}

function parametersOf(api: OpenApi, { parameters }: Operation): Parameter[] {
  return parameters.map((part) => {
    const found = follow(api, part) as Parameter
    return { ...found, schema: follow(api, found.schema) }
  })
}

function toBodyInput({ requestBody }: Operation): HTMLTextAreaElement | undefined {
  const content = requestBody?.content[JSON_TYPE]
  if (content === undefined) return undefined
  const value = JSON.stringify(content.example ?? {}, null, 2)
  return element('textarea', undefined, {
    value,
    rows: value.split('\n').length + 1,
    spellcheck: false,
  })
}

function toRow({ param, input }: Field): HTMLElement {
  const row = toTableRow(param.name, param.required, param.description, param.schema)
  const cell = element('td')
  cell.append(input)
  row.append(cell)
  return row
}

function toTableRow(
  name: string,
  isRequired: boolean,
  description: string,
  schema: Schema,
): HTMLTableRowElement {
  const row = element('tr')
  const first = element('td')
  first.append(element('code', name), isRequired ? ' *' : '')
  const about = element('td')
  addProse(description, about, 'span')
  about.append(element('br'), element('span', typeText(schema), { className: 'soft' }))
  row.append(first, about)
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

/** Sends what the form holds; what cannot be undone only after a question. */
async function submit({ path, method, operation }: Route, form: Form, out: HTMLElement) {
  // The examples of reading routes exist in the demonstration data; a change needs an id of the visitor's own.
  const missing = form.fields.find(
    ({ param, input }) => method !== 'get' && param.required && input.value === '',
  )
  for (const { input } of form.fields) input.removeAttribute('aria-invalid')
  if (missing !== undefined) {
    const message = element('p', `${missing.param.name} is missing.`)
    message.setAttribute('role', 'alert')
    out.replaceChildren(message)
    missing.input.setAttribute('aria-invalid', 'true')
    missing.input.focus()
    return
  }
  const isWithoutDemo = operation['x-demo'] === false || isKeyless(operation)
  const isDemo = (byId('demo') as HTMLInputElement).checked && !isWithoutDemo
  const key = (byId('key') as HTMLInputElement).value.trim()
  const address = toAddress(path, form.fields)
  const request: ApiRequest = {
    method: method.toUpperCase(),
    address: isDemo ? address.replace('/v3/', '/v3/demo/') : address,
    isKeyed: key !== '' && !isDemo && !isKeyless(operation),
    body: form.body?.value,
  }
  if (method === 'delete' && !(await isConfirmed(request))) return
  await send(request, key, out)
}

/** Asks whether a request that deletes something is meant. */
function isConfirmed({ method, address }: ApiRequest): Promise<boolean> {
  const dialog = element('dialog')
  const title = element('h2', `Send ${method}?`, { id: 'question' })
  dialog.setAttribute('aria-labelledby', title.id)
  const keep = element('button', 'Keep it', { autofocus: true })
  const go = element('button', 'Delete', { className: 'danger' })
  keep.addEventListener('click', () => dialog.close())
  go.addEventListener('click', () => dialog.close('delete'))
  const buttons = element('div', undefined, { className: 'bar' })
  buttons.append(keep, go)
  dialog.append(
    title,
    element('p', `${method} ${decodeURIComponent(address)}`, { className: 'path' }),
    element('p', 'What it deletes cannot be brought back.'),
    buttons,
  )
  document.body.append(dialog)
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(dialog.returnValue === 'delete')
    })
  })
}

async function send(request: ApiRequest, key: string, out: HTMLElement): Promise<void> {
  const { method, address, isKeyed, body } = request
  out.replaceChildren(
    element('pre', toShellCommand(request)),
    toDetails('Python', toPython(request)),
  )
  try {
    const started = performance.now()
    const headers = {
      ...(isKeyed ? { Authorization: `Bearer ${key}` } : {}),
      ...(body === undefined ? {} : { 'Content-Type': JSON_TYPE }),
    }
    const init = { method, headers, ...(body === undefined ? {} : { body }) }
    const response = await fetch(address, init)
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

/** The address that the fields make; an example stands for what is required and empty. */
function toAddress(path: string, fields: readonly Field[]): string {
  let address = path
  const query: string[] = []
  for (const { param, input } of fields) {
    const example = param.required && param.example !== undefined ? String(param.example) : ''
    const value = encodeURIComponent(input.value === '' ? example : input.value)
    if (param.in === 'path') address = address.replace(`{${param.name}}`, value)
    else if (value !== '') query.push(`${param.name}=${value}`)
  }
  return query.length === 0 ? address : `${address}?${query.join('&')}`
}

/** The request of the document's example. */
function exampleOf(api: OpenApi, { path, method, operation }: Route): ApiRequest {
  const fields = parametersOf(api, operation).map((param) => ({ param, input: toInput(param) }))
  return {
    method: method.toUpperCase(),
    address: toAddress(path, fields),
    isKeyed: !isKeyless(operation),
    body: toBodyInput(operation)?.value,
  }
}

function isKeyless({ security }: Operation): boolean {
  return security?.length === 0
}

/** A curl command; it reads the key from the environment and never contains it. */
function toShellCommand({ method, address, isKeyed, body }: ApiRequest): string {
  const parts = [`curl ${quoted(`${location.origin}${address}`)}`]
  if (method !== 'GET') parts.push(`-X ${method}`)
  if (isKeyed) parts.push('-H "Authorization: Bearer $PRIORBOOK_KEY"')
  if (body !== undefined) parts.push(`-H 'Content-Type: ${JSON_TYPE}'`, `-d ${quoted(body)}`)
  return parts.join(' ')
}

/** Text as one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A complete Python program, as the panels of the explorer have it; a test compares them and runs it. */
function toPython({ method, address, isKeyed, body }: ApiRequest): string {
  const headers = [
    ...(isKeyed ? [`"Authorization": f"Bearer {os.environ['PRIORBOOK_KEY']}"`] : []),
    ...(body === undefined ? [] : [`"Content-Type": "${JSON_TYPE}"`]),
  ]
  const parts = [
    JSON.stringify(`${location.origin}${address}`),
    ...(headers.length === 0 ? [] : [`headers={${headers.join(', ')}}`]),
    // A string of JSON is one of Python as well.
    ...(body === undefined ? [] : [`content=${JSON.stringify(body)}`]),
  ]
  return `${isKeyed ? 'import os\n\n' : ''}import httpx

answer = httpx.${method.toLowerCase()}(${parts.join(', ')})
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
  if (typeof type !== 'string') return type.join(' | ')
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
function addProse(text: string, into: HTMLElement, tag: 'p' | 'span' = 'p'): void {
  for (const part of text.split('\n\n')) {
    const paragraph = element(tag)
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
