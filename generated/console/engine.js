import"./shared-16.js";import{c as a,d as b,e as c,f as d}from"./shared-17.js";import"./shared-18.js";export{d as DetailPage,a as ListPage,c as Pages,b as goFrom};
