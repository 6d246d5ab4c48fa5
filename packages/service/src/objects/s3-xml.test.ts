import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseS3Failure, parseS3Page } from './s3-xml.ts'

const pageOf = (text: string): ReturnType<typeof parseS3Page> => parseS3Page(Buffer.from(text))
const failureOf = (text: string): ReturnType<typeof parseS3Failure> =>
  parseS3Failure(Buffer.from(text))

const PAGE = `<?xml version="1.0" encoding="UTF-8"?>
<!-- <ListBucketResult> -->
<s3:ListBucketResult xmlns:s3='http://s3.amazonaws.com/doc/2006-03-01/' odd="a > b">
  <s3:Name>Contents</s3:Name><s3:Prefix/><s3:IsTruncated>true</s3:IsTruncated>
  <s3:Contents><s3:Key>a&amp;b &lt;&#233;&#x1F600;&apos;+</s3:Key><s3:Size>12</s3:Size>
    <s3:Owner><s3:Key>no</s3:Key><s3:Size>x</s3:Size></s3:Owner></s3:Contents>
  <s3:Contents ><s3:Size>0</s3:Size ><s3:Key><![CDATA[<&amp;>]]></s3:Key></s3:Contents>
  <s3:NextContinuationToken>t=/+&quot;</s3:NextContinuationToken>
</s3:ListBucketResult>
`

describe('a page of a list', () => {
  test('gives keys, sizes and the token of the next', () => {
    expect(pageOf(PAGE)).toEqual({
      objects: [
        { key: "a&b <é😀'+", size: 12 },
        { key: '<&amp;>', size: 0 },
      ],
      next: 't=/+"',
    })
    const last = PAGE.replace('>true<', '>false<')
    expect(pageOf(last)!.next).toBeUndefined()
  })

  test('has its keys decoded where it says that they are encoded', () => {
    const encoded = (key: string): string =>
      `<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>${key}</Key><Size>1</Size></Contents></ListBucketResult>`
    expect(pageOf(encoded('a+b%2Bc/%E6%97%A5%26amp;'))!.objects[0]!.key).toBe('a b+c/日&amp;')
    expect(pageOf(encoded('%'))).toBeUndefined()
    expect(pageOf(encoded('%ff'))).toBeUndefined()
  })

  test.each([
    '',
    'x',
    '<html><body>Hello</body></html>',
    '<ListBucketResult>',
    '<ListBucketResult></ListBucketResult><a/>',
    '<ListBucketResult></Other>',
    '</ListBucketResult>',
    '<!DOCTYPE a [<!ENTITY b "c">]><ListBucketResult/>',
    '<ListBucketResult>&b;</ListBucketResult>',
    '<ListBucketResult>&constructor;</ListBucketResult>',
    '<ListBucketResult>&#x110000;</ListBucketResult>',
    '<ListBucketResult>&amp</ListBucketResult>',
    '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>',
    '<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>',
    '<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>',
    '<a>'.repeat(100_000),
  ])('is none: %.80j', (text) => {
    expect(pageOf(text)).toBeUndefined()
  })

  test('is none where it ends early', () => {
    const end = PAGE.trimEnd().length
    for (let length = 0; length < end; length++) {
      expect(pageOf(PAGE.slice(0, length))).toBeUndefined()
    }
  })

  test('never throws', () => {
    const pieces = ['<', '>', '/', '&', ';', '!', '?', '[', ']', '-', '"', "'", ' ', 'a', '=', '#']
    const aPiece = fc.constantFrom(...pieces, '%', '<![CDATA[', ']]>', '<a>', '</a>')
    fc.assert(
      fc.property(fc.string({ unit: aPiece, maxLength: 30 }), (text) => {
        const page = pageOf(`<ListBucketResult>${text}</ListBucketResult>`)
        expect(page?.objects ?? []).toEqual([])
        expect(failureOf(`<Error>${text}</Error>`).code).toBe('')
      }),
      { numRuns: 2000, seed: 1 },
    )
  })
})

test('a failure has its words where it is one of S3', () => {
  const words = '<Error><Code>A</Code><Message>b &amp; c</Message><Region>d</Region></Error>'
  expect(failureOf(words)).toEqual({ code: 'A', message: 'b & c', region: 'd' })
  const none = { code: '', message: '', region: '' }
  for (const text of [
    '',
    '<html/>',
    '<Error><Code>',
    '<Errors><Code>A</Code></Errors>',
    '<Error/>',
  ]) {
    expect(failureOf(text)).toEqual(none)
  }
})
