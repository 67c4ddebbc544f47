// The runtime of the client (bd84ec250313c382), compiled from packages/client/ of the toolkit. Do not edit.
/** Whether the media type is JSON: `application/json`, `application/problem+json`. */
export declare function isJson(type: string): boolean;
/** Whether the media type is JSON values, one in each line. */
export declare function isJsonLines(type: string): boolean;
/** Whether a body of the type is a sequence of items that a server sends one by one. */
export declare function hasItems(type: string): boolean;
export declare function isForm(type: string): boolean;
/** The media type without its parameters, in lower case. */
export declare function essenceOf(type: string): string;
/** Whether it is a type or a range, as opposed to a key in the wrong place, such as `examples`. */
export declare function isMediaType(type: string): boolean;
export declare function isRange(type: string): boolean;
/** Whether the range, or the type itself, includes the media type. */
export declare function includesType(range: string, type: string): boolean;
/** The entry for a media type: the most specific of those that include it. */
export declare function mediaFor<Media extends {
    type: string;
}>(media: readonly Media[], type: string): Media | undefined;
interface Schema {
    format?: string;
    contentMediaType?: string;
}
/** The media type of an answer: a declared one itself, and a concrete one of a range. */
export declare function concreteType(range: string, schema: Schema): string;
export {};
