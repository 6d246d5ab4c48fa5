/** A part of an OpenAPI document. */
export type Part = { readonly [name: string]: unknown }

/** The schemas of an OpenAPI document by name. */
export type Schemas = Readonly<Record<string, Part>>

/** Schemas that Python has types for. */
const NATIVE: Readonly<Record<string, string>> = { Decimal: 'Decimal', Time: 'datetime' }

// Words that Python keeps for itself.
const RESERVED = new Set(['from', 'in', 'is', 'class', 'global', 'not', 'or', 'and', 'if', 'as'])

/** A name that Python accepts. */
export function pythonName(name: string): string {
  return RESERVED.has(name) ? `${name}_` : name
}

/** The name of the schema that a part refers to, if it does. */
export function refOf(part: Part): string | undefined {
  const ref = part['$ref']
  return typeof ref === 'string' ? ref.slice(ref.lastIndexOf('/') + 1) : undefined
}

/** A text of a document; empty where there is none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The records of one thing by venue are one class in Python, with the members of all venues. */
export function unionName(name: string): string {
  return name.replace(/^(Listed)?Venue[A-Z](Market(Revision)?)$/, '$1$2')
}

/** The module `models.py`: a class for every object of the interface, a list of words for every enumeration. */
export function toModels(schemas: Schemas): string {
  const names = new Set(
    Object.keys(schemas)
      .filter((name) => isOwn(name, schemas))
      .map(unionName),
  )
  const blocks = [...names].sort().map((name) => toBlock(name, schemas))
  return `${HEADER}${blocks.filter((text) => text !== '').join('')}`
}

const HEADER = `"""The objects of the interface. Generated from the OpenAPI document: \`npm run models:python\`."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

import msgspec


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """Members that an answer leaves out are None; members that this version does not know are skipped."""
`

// Envelopes are read apart, with the type of their data.
function isOwn(name: string, schemas: Schemas): boolean {
  const { properties } = schemas[name]!
  const isEnvelope = properties !== undefined && 'pagination' in (properties as Part)
  return NATIVE[name] === undefined && !isEnvelope
}

function toBlock(name: string, schemas: Schemas): string {
  const sources = sourcesOf(name, schemas)
  const [first] = sources
  if (first === undefined) return ''
  if (first['enum'] !== undefined) return toWords(name, first['enum'] as readonly string[])
  if (first['properties'] === undefined) return ''
  return toClass(name, sources, schemas)
}

// The schemas that one class is made of.
function sourcesOf(name: string, schemas: Schemas): Part[] {
  const own = schemas[name]
  const options = (own?.['anyOf'] ?? []) as readonly Part[]
  if (options.length > 0) return options.map((option) => schemas[refOf(option)!]!)
  if (own !== undefined) return [own]
  return Object.keys(schemas)
    .filter((other) => unionName(other) === name)
    .map((other) => schemas[other]!)
}

function toWords(name: string, words: readonly string[]): string {
  const list = words.map((word) => `    ${JSON.stringify(word)},\n`).join('')
  return `\n\n${name} = Literal[\n${list}]`.replace(/^\n\n/, '\n') + '\n'
}

function toClass(name: string, sources: readonly Part[], schemas: Schemas): string {
  const members = new Map<string, { types: Set<string>; required: number; text: string }>()
  for (const source of sources) {
    const required = (source['required'] ?? []) as readonly string[]
    for (const [member, schema] of Object.entries(source['properties'] as Schemas)) {
      const known = members.get(member) ?? { types: new Set(), required: 0, text: '' }
      for (const type of toType(schema, schemas).split(' | ')) known.types.add(type)
      if (required.includes(member)) known.required++
      if (known.text === '') known.text = textOf(schema['description'])
      members.set(member, known)
    }
  }
  const lines = [...members].map(([member, { types, required, text }]) => {
    const isAlways = required === sources.length && !types.has('None')
    const plain = [...types].filter((type) => type !== 'None')
    const type = (plain.includes('Any') ? ['Any'] : plain).join(' | ')
    const own = pythonName(member)
    const renamed = own === member ? undefined : `name=${JSON.stringify(member)}`
    const given = [...(isAlways ? [] : ['default=None']), ...(renamed ? [renamed] : [])]
    const value = renamed ? ` = msgspec.field(${given.join(', ')})` : isAlways ? '' : ' = None'
    const doc = text === '' ? '' : `\n    """${plainText(text)}"""`
    return `    ${own}: ${isAlways || type === 'Any' ? type : `${type} | None`}${value}${doc}\n`
  })
  const about = textOf(sources[0]!['description'])
  const doc = about === '' ? '' : `    """${plainText(about)}"""\n\n`
  return `\n\nclass ${name}(Model, frozen=True, kw_only=True):\n${doc}${lines.join('')}`
}

function plainText(text: string): string {
  return text.replaceAll('’', "'").replaceAll('\n', ' ').replaceAll('"', "'").replaceAll('−', '-')
}

/** The Python type of what a schema describes. Words are text: a later version may add some. */
export function toType(schema: Part, schemas: Schemas): string {
  const ref = refOf(schema)
  if (ref !== undefined) return toRefType(ref, schemas)
  const { type, anyOf, allOf } = schema as { type?: unknown; anyOf?: Part[]; allOf?: Part[] }
  if (allOf?.length === 1) return toType(allOf[0]!, schemas)
  if (anyOf !== undefined) return joined(anyOf.flatMap((one) => toType(one, schemas).split(' | ')))
  if (Array.isArray(type))
    return joined(type.map((one: unknown) => toType({ ...schema, type: one }, schemas)))
  if (type === 'array') return `list[${toType(schema['items'] as Part, schemas)}]`
  if (type === 'object') {
    const more = schema['additionalProperties']
    const values = typeof more === 'object' ? toType(more as Part, schemas) : 'Any'
    return `dict[str, ${values}]`
  }
  return SIMPLE[String(type)] ?? ('enum' in schema || 'const' in schema ? 'str' : 'Any')
}

const SIMPLE: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
}

function toRefType(name: string, schemas: Schemas): string {
  const native = NATIVE[name]
  if (native !== undefined) return native
  const schema = schemas[name]!
  const isClass = schema['properties'] !== undefined || schema['anyOf'] !== undefined
  return isClass ? unionName(name) : toType(schema, schemas)
}

function joined(types: readonly string[]): string {
  const unique = [...new Set(types)]
  const plain = unique.filter((type) => type !== 'None')
  const all = plain.includes('Any') ? ['Any'] : plain
  return [...all, ...(unique.includes('None') && !all.includes('Any') ? ['None'] : [])].join(' | ')
}
