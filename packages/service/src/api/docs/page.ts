import { toPage } from './html.ts'

/** `/docs`: renders the OpenAPI document of this server in the browser, with a way to try every route. */
export function toDocsPage(): string {
  return toPage('Docs – Priorbook', BODY, SCRIPT)
}

const BODY = `<div class="split"><nav id="nav"></nav><main>
<h1>Priorbook</h1><div id="about"></div>
<p><a href="/docs/errors">Errors</a> · <a href="/v3/openapi.json">OpenAPI 3.1</a> · <a href="/v3/asyncapi.json">AsyncAPI 3</a> · <a href="/llms.txt">llms.txt</a></p>
<div class="bar"><label>Key <input id="key" type="password" size="48" autocomplete="off" placeholder="pb_live_…"></label>
<label><input id="demo" type="checkbox" checked> demonstration data, no key</label></div>
<div id="routes"><p class="soft">Loading…</p></div></main></div>`

// Text of the document is only ever set as text. The key stays in its field: it is stored nowhere.
const SCRIPT = `
'use strict'
const make = (tag, text, more) => {
  const node = document.createElement(tag)
  if (text !== undefined) node.textContent = text
  return Object.assign(node, more)
}
const prose = (text, into) => {
  for (const part of text.split('\\n\\n')) {
    const p = make('p')
    part.split('\`').forEach((piece, index) => p.append(index % 2 ? make('code', piece) : piece))
    into.append(p)
  }
}
const typeOf = (schema) => schema.enum ? schema.enum.join(' | ')
  : schema.type === 'integer' && schema.minimum !== undefined ? schema.minimum + ' – ' + schema.maximum : String(schema.type || '')
let api
const follow = (part) => part.$ref ? part.$ref.slice(2).split('/').reduce((at, name) => at[name], api) : part
// The schema of an answer and every named schema that it uses.
const schemaText = (schema) => {
  const used = new Map()
  const collect = (part) => {
    if (typeof part !== 'object' || part === null) return
    if (part.$ref && !used.has(part.$ref)) { used.set(part.$ref, follow(part)); collect(follow(part)) }
    for (const value of Object.values(part)) collect(value)
  }
  collect(schema)
  return [...used].map(([ref, one]) => ref.split('/').pop() + ' ' + JSON.stringify(one, null, 2)).join('\\n\\n')
}
const demoPath = (path) => path.replace('/v3/', '/v3/demo/')
function tryIt(path, operation) {
  const box = make('div')
  const inputs = new Map()
  const table = make('table')
  for (const part of operation.parameters) {
    const param = { ...follow(part), schema: follow(follow(part).schema) }
    const row = make('tr')
    const name = make('td')
    name.append(make('code', param.name), param.required ? ' *' : '')
    const about = make('td', param.description)
    about.append(make('br'), make('span', typeOf(param.schema), { className: 'soft' }))
    let input
    if (param.schema.enum || param.schema.type === 'boolean') {
      input = make('select')
      for (const word of ['', ...(param.schema.enum || ['true', 'false'])]) input.append(make('option', word))
    } else input = make('input', undefined, { placeholder: param.example === undefined ? '' : String(param.example) })
    input.setAttribute('aria-label', param.name)
    inputs.set(param, input)
    const cell = make('td')
    cell.append(input)
    row.append(name, about, cell)
    table.append(row)
  }
  if (operation.parameters.length) box.append(table)
  const go = make('button', 'Send')
  const out = make('div')
  box.append(make('p'), go, out)
  go.onclick = async () => {
    let address = path
    const query = []
    for (const [param, input] of inputs) {
      const value = input.value || (param.required && param.example !== undefined ? String(param.example) : '')
      if (param.in === 'path') address = address.replace('{' + param.name + '}', encodeURIComponent(value))
      else if (value) query.push(param.name + '=' + encodeURIComponent(value))
    }
    const isOpen = operation.security && operation.security.length === 0
    const isDemo = document.getElementById('demo').checked && !isOpen
    const isAccount = ['Account', 'Service'].includes(operation.tags[0])
    if (isDemo && !isAccount) address = demoPath(address)
    if (query.length) address += '?' + query.join('&')
    const key = document.getElementById('key').value.trim()
    const isKeyed = key !== '' && !isOpen && !(isDemo && !isAccount)
    out.replaceChildren(make('pre', "curl '" + location.origin + address + "'" + (isKeyed ? " -H 'Authorization: Bearer $KEY'" : '')))
    try {
      const started = performance.now()
      const response = await fetch(address, { headers: isKeyed ? { Authorization: 'Bearer ' + key } : {} })
      const text = await response.text()
      const ms = Math.round(performance.now() - started)
      const limit = response.headers.get('RateLimit')
      out.append(make('p', response.status + ' · ' + ms + ' ms · ' + text.length + ' characters · ' + response.headers.get('X-Request-Id') + (limit ? ' · ' + limit : ''), { className: 'soft' }))
      let shown = text
      try { shown = JSON.stringify(JSON.parse(text), null, 2) } catch {}
      out.append(make('pre', shown.length > 20000 ? shown.slice(0, 20000) + '\\n…' : shown))
    } catch (error) { out.append(make('pre', String(error))) }
  }
  return box
}
fetch('/v3/openapi.json').then((response) => response.json()).then((doc) => {
  api = doc
  prose(doc.info.description, document.getElementById('about'))
  const routes = document.getElementById('routes')
  const nav = document.getElementById('nav')
  routes.replaceChildren()
  for (const { name } of doc.tags) {
    nav.append(make('b', name))
    for (const [path, { get }] of Object.entries(doc.paths)) {
      if (get.tags[0] !== name) continue
      nav.append(make('a', get.summary, { href: '#' + get.operationId, title: path }))
      const section = make('section', undefined, { id: get.operationId })
      section.append(make('h2', get.summary), make('p', 'GET ' + path, { className: 'path' }))
      prose(get.description, section)
      const types = Object.keys(get.responses['200'].content || {})
      section.append(make('p', 'Answers ' + types.join(', '), { className: 'soft' }))
      const more = make('details')
      more.append(make('summary', 'Parameters and try it'))
      let isOpen = false
      more.ontoggle = () => { if (!isOpen) { isOpen = true; more.append(tryIt(path, get)) } }
      section.append(more)
      const content = get.responses['200'].content['application/json'] || {}
      if (content.example) {
        const example = make('details')
        example.append(make('summary', 'Example of data'), make('pre', JSON.stringify(content.example.data, null, 2)))
        section.append(example)
      }
      if (content.schema) {
        const shape = make('details')
        shape.append(make('summary', 'Schema'), make('pre', schemaText(content.schema)))
        section.append(shape)
      }
      routes.append(section)
    }
  }
})
`
