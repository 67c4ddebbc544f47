import{g as a,h as b,i as c,j as d}from"./shared-10.js";import"./shared-11.js";export{d as DetailPage,a as ListPage,c as Pages,b as goFrom};
